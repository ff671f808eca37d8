// A host in small: it sends prompts to an agent that is not there, and shows the transcript.
//
//   npm run example -- --root ~/.dsh/sessions 'Do the same as in @login' 'and as in @notes'
//
// Each `@word` becomes the mention of the best candidate for that word, as if it had been picked
// from a menu. `@notes` finds a session that is in this program's memory only.

import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';

import { SessionrefError, Sidecar, pageOf, type LiveSessions } from 'sessionref-host';

import { Transcript, textOf, type Message } from './transcript.js';

const AGENT = { id: `chat-${randomUUID()}`, cwd: process.cwd() };

const NOTES = { id: 'notes', version: 0, createdAt: Date.now(), cwd: AGENT.cwd, title: 'Notes' };
const note = {
  seq: 0,
  time: NOTES.createdAt,
  type: 'user/message',
  surfaceOp: 'append',
  data: {
    id: 'n1',
    role: 'user',
    source: { kind: 'user' },
    content: [{ type: 'text', text: 'Ask before you delete anything.' }],
  },
};
const liveSessions: LiveSessions = {
  list: () => [NOTES],
  read: (id, afterSeq) => (id === NOTES.id ? pageOf(NOTES, [note], afterSeq) : null),
};

/** A sidecar that breaks down under a call is started anew, and then the same call may do. */
async function asking<T>(call: () => Promise<T>, more = 2): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (more > 0 && error instanceof SessionrefError && error.retryable) {
      return asking(call, more - 1);
    }
    throw error;
  }
}

/** A prompt with every `@word` that finds a session turned into its mention. */
async function mentioning(sidecar: Sidecar, prompt: string, signal: AbortSignal): Promise<string> {
  const parts = prompt.split(/(?<=^|\s)@([\p{L}\p{N}_-]+)/u);
  const words = parts.map(async (part, index) => {
    if (index % 2 === 0) return part;
    const params = { agent: AGENT, query: part, limit: 1 };
    const { candidates } = await asking(() => sidecar.listCandidates(params, { signal }));
    return candidates[0]?.mention ?? `@${part}`;
  });
  return (await Promise.all(words)).join('');
}

async function send(
  sidecar: Sidecar,
  transcript: Transcript,
  prompt: string,
  signal: AbortSignal,
): Promise<void> {
  const text = await mentioning(sidecar, prompt, signal);
  const message: Message = {
    id: randomUUID(),
    role: 'user',
    source: { kind: 'user' },
    content: [{ type: 'text', text }],
  };
  const params = { agent: AGENT, decision: { kind: 'enter' as const, messages: [message] } };
  const { decision } = await asking(() => sidecar.preStep(params, { signal }));
  transcript.enter(decision);
}

/** Messages of people as they are, and one line for each session that was quoted. */
async function show(sidecar: Sidecar, transcript: Transcript): Promise<void> {
  const { messages } = transcript;
  const { recalls } = await asking(() => sidecar.describeTranscript({ messages }));
  const lines = new Map(recalls.map(({ recallIndex, references }) => [recallIndex, references]));
  console.log(`# ${transcript.title}`);
  for (const [index, message] of messages.entries()) {
    const references = lines.get(index);
    if (references === undefined) console.log(`you     ${textOf(message)}`);
    for (const { line } of references ?? []) console.log(`recall  ${line}`);
  }
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { command: { type: 'string', default: 'sessionref' }, root: { type: 'string' } },
    allowPositionals: true,
  });
  const turn = new AbortController();
  process.once('SIGINT', () => turn.abort());
  const sidecar = await Sidecar.start({
    command: values.command,
    args: values.root === undefined ? [] : ['--root', values.root],
    clientInfo: { name: 'chat', version: '1' },
    liveSessions,
    onStderr: (text) => process.stderr.write(text),
  });
  try {
    const transcript = new Transcript();
    for (const prompt of positionals) await send(sidecar, transcript, prompt, turn.signal);
    await show(sidecar, transcript);
  } finally {
    await sidecar.close();
  }
}

try {
  await main();
} catch (error) {
  console.error(error instanceof SessionrefError ? `chat: ${error.message}` : error);
  process.exitCode = 1;
}
