// One conversation over a pair of streams: requests both ways, cancels both ways, backpressure.
// Knows no methods but `$/cancelRequest`, and no processes.
//
// Cancelling: each request gets exactly one answer, also one that is cancelled, and how soon is up
// to the other side. So an aborted call rejects at once, and its answer is dropped when it comes.
// Ids are never used twice, so a late answer can't be taken for another's.
//
// Writing: one line at a time, and none while the stream says that it is full. What is aborted
// before it was written never is, and cancels go before everything that waits.

import type { Readable, Writable } from 'node:stream';

import { abortable, onAbort } from './abort.js';
import { AbortError, LineTooLongError, RpcError } from './errors.js';
import { LineSplitter } from './lines.js';
import {
  decode,
  encodeError,
  encodeNotification,
  encodeRequest,
  encodeResult,
  isObject,
  type Id,
  type Message,
} from './messages.js';
import { ErrorCode, type ErrorInfo } from './protocol.js';

/** What we are to the other side. */
export interface Handlers {
  /** The result of a request, or the promise of it; what it throws is an error answer. */
  answer(method: string, params: unknown, signal: AbortSignal): unknown;
  hear(method: string, params: unknown): void;
}

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
  /** Stop listening to the caller's signal. */
  release: (() => void) | undefined;
}

type Request = Extract<Message, { kind: 'request' }>;

export class Connection {
  /** Longer lines of ours are refused with a `LineTooLongError`. In bytes, without the end. */
  outgoingLimit = 64 * 1024 * 1024;
  /** Settles once nothing more can be read or written: with an error if what was read is wrong. */
  readonly broken: Promise<Error | undefined>;

  readonly #output: Writable;
  readonly #handlers: Handlers;
  readonly #splitter: LineSplitter;
  readonly #pending = new Map<Id, Pending>();
  /** Requests of the other side that have no answer yet. */
  readonly #answering = new Map<Id, AbortController>();
  #calls = 0;
  #queue: Buffer[] = [];
  #isFull = false;
  #isEnding = false;
  #closed: Error | undefined;
  #break!: (reason?: Error) => void;

  constructor(input: Readable, output: Writable, handlers: Handlers, incomingLimit: number) {
    this.#output = output;
    this.#handlers = handlers;
    this.#splitter = new LineSplitter(incomingLimit);
    this.broken = new Promise((resolve) => (this.#break = resolve));
    input.on('data', (chunk: Buffer) => this.#receive(chunk));
    input.on('end', () => this.#break());
    input.on('error', () => this.#break());
    output.on('error', () => this.#break()); // nobody reads any more
    output.on('drain', () => {
      this.#isFull = false;
      this.#pump();
    });
  }

  /** The result of a request. Rejects with `RpcError`, `AbortError`, or what it was closed with. */
  request(method: string, params?: unknown, signal?: AbortSignal): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) throw new AbortError(signal.reason);
      if (this.#closed) throw this.#closed;
      const id = (this.#calls += 1);
      const line = this.#bounded(encodeRequest(id, method, params));
      const release = signal && onAbort(signal, () => this.#abort(id, line, signal));
      this.#pending.set(id, { resolve, reject, release });
      this.#send(line);
    });
  }

  #abort(id: Id, line: Buffer, { reason }: AbortSignal): void {
    if (!this.#withdraw(line)) this.#send(encodeNotification('$/cancelRequest', { id }), true);
    this.#settled(id)?.reject(new AbortError(reason));
  }

  notify(method: string, params?: unknown): void {
    this.#send(this.#bounded(encodeNotification(method, params)));
  }

  /** Say that nothing more comes, behind what is still to be written. */
  end(): void {
    this.#isEnding = true;
    this.#pump();
  }

  /** Give up: whatever waits for an answer is rejected with `error`, now and later. */
  close(error: Error): void {
    this.#closed ??= error;
    this.#queue = [];
    this.#rejectAll(error);
    for (const controller of this.#answering.values()) controller.abort(error);
  }

  // What comes in

  #receive(chunk: Buffer): void {
    for (const message of this.#messages(chunk)) this.#take(message);
  }

  *#messages(chunk: Buffer): Generator<Message> {
    try {
      for (const line of this.#splitter.push(chunk)) {
        const message = decode(line);
        if (message !== undefined) yield message;
      }
    } catch (error) {
      this.#break(error as Error);
    }
  }

  #take(message: Message): void {
    switch (message.kind) {
      case 'request':
        void this.#answer(message);
        break;
      case 'notification':
        if (message.method !== '$/cancelRequest') {
          this.#handlers.hear(message.method, message.params);
        } else if (isObject(message.params)) {
          this.#answering.get(message.params['id'] as Id)?.abort();
        }
        break;
      case 'result':
        this.#settled(message.id)?.resolve(message.result);
        break;
      case 'error': {
        const failure = failureOf(message);
        if (message.id !== null) this.#settled(message.id)?.reject(failure);
        // A line of ours could not be read, and nobody can tell which: its answer never comes.
        else this.#rejectAll(failure);
      }
    }
  }

  #settled(id: Id): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.release?.();
    return pending;
  }

  #rejectAll(error: Error): void {
    for (const id of [...this.#pending.keys()]) this.#settled(id)?.reject(error);
  }

  async #answer({ id, method, params }: Request): Promise<void> {
    const controller = new AbortController();
    this.#answering.set(id, controller);
    try {
      const work = Promise.resolve(this.#handlers.answer(method, params, controller.signal));
      const result = await abortable(work, controller.signal);
      this.#send(this.#bounded(encodeResult(id, result)));
    } catch (error) {
      const { code, message } = answerTo(error);
      this.#send(encodeError(id, code, message));
    } finally {
      this.#answering.delete(id);
    }
  }

  // What goes out

  #bounded(line: Buffer): Buffer {
    if (line.length - 1 > this.outgoingLimit) throw new LineTooLongError(this.outgoingLimit);
    return line;
  }

  #send(line: Buffer, isUrgent = false): void {
    if (this.#closed || this.#isEnding) return;
    if (isUrgent) this.#queue.unshift(line);
    else this.#queue.push(line);
    this.#pump();
  }

  /** Take back a line that is not written yet. */
  #withdraw(line: Buffer): boolean {
    const place = this.#queue.indexOf(line);
    if (place < 0) return false;
    this.#queue.splice(place, 1);
    return true;
  }

  #pump(): void {
    while (!this.#isFull) {
      const line = this.#queue.shift();
      if (line === undefined) break;
      this.#isFull = !this.#output.write(line);
    }
    if (this.#isEnding && this.#queue.length === 0) this.#output.end();
  }
}

function failureOf(answer: Extract<Message, { kind: 'error' }>): Error {
  const data = isObject(answer.data) ? (answer.data as unknown as ErrorInfo) : undefined;
  const failure = new RpcError(answer.code, answer.message, data);
  return answer.code === ErrorCode.CANCELLED ? new AbortError(failure) : failure;
}

function answerTo(error: unknown): { code: number; message: string } {
  if (error instanceof RpcError) return error;
  if (error instanceof AbortError) return { code: ErrorCode.CANCELLED, message: error.message };
  const message = error instanceof Error ? error.message : String(error);
  return { code: ErrorCode.INTERNAL, message };
}
