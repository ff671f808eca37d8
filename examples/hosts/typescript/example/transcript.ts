// What a host keeps of a conversation: the messages, in the order in which they were entered.

import { isContextMessage, type ContextMessage, type NextStep } from 'sessionref-host';

export interface Message {
  id: string;
  role: 'user' | 'assistant';
  source: { kind: string };
  content: Array<{ type: 'text'; text: string }>;
}

export class Transcript {
  readonly messages: Array<Message | ContextMessage> = [];

  /** Store what a step goes on with: as it came, in this order, context messages included. */
  enter(step: NextStep<Message>): void {
    if (step.kind === 'enter') this.messages.push(...step.messages);
  }

  /** Made of what was written here: a context message would name another session. */
  get title(): string {
    const first = this.messages.find((message) => !isContextMessage(message));
    return first ? textOf(first) : 'New session';
  }
}

export function textOf({ content }: Message | ContextMessage): string {
  return content.map(({ text }) => text).join('\n');
}
