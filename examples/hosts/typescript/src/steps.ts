// The messages of a host, as far as the sidecar looks into them, and the one that it makes.
//
// The schemas leave these open, since a host's messages hold whatever the host wants: they come
// back as they were, but for the mentions. So the types here are the host's own (`M`).

/** What the host's own listeners decided about the next step. */
export type Decision<M> =
  | { kind: 'enter'; messages: readonly M[]; [member: string]: unknown }
  | { kind: 'reject'; [member: string]: unknown };

/** What to go on with: the messages in this order, the new ones among them. Store them all. */
export type NextStep<M> =
  | { kind: 'enter'; messages: Array<M | ContextMessage>; [member: string]: unknown }
  | { kind: 'reject'; [member: string]: unknown };

/**
 * Snapshots of the sessions that a message refers to. Frozen: never make it anew for a session that
 * is replayed. Show the lines of `describeTranscript`, and keep its text out of generated titles.
 */
export interface ContextMessage {
  id: string;
  role: 'user';
  source: {
    kind: 'session-reference';
    form: 'recall';
    version: 1;
    references: ContextReference[];
    [member: string]: unknown;
  };
  content: Array<{ type: 'text'; text: string }>;
}

export interface ContextReference {
  sessionId: string;
  label: string;
  capturedThroughSeq: number | null;
  compacted: boolean;
  originalMessages: number;
  retainedMessages: number;
  omittedMessages: number;
  omittedBytes: number;
  truncated: boolean;
  inputIndex: number;
  [member: string]: unknown;
}

/** Whether a message is one that the sidecar made. */
export function isContextMessage(message: object): message is ContextMessage {
  const { source } = message as { source?: { kind?: unknown } | null };
  return source?.kind === 'session-reference';
}
