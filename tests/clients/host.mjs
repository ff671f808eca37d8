// A host as somebody would write it in JavaScript: it spawns the sidecar, asks it, and answers what
// it is asked. Standard library only; it knows nothing of the sidecar but the wire.

import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { fileURLToPath } from 'node:url';

export const PROGRAM =
  process.env.SESSIONREF ?? fileURLToPath(new URL('../../.venv/bin/sessionref', import.meta.url));

/** An error answer of the sidecar. */
export class RpcError extends Error {
  constructor({ code, message, data }) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** What a handler returns that never answers. */
export const NEVER = new Promise(() => {});

/** Our environment without what could change the sidecar's answers. */
export function cleanEnvironment() {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(SESSIONREF_(?!CACHE_DIR)|DSH|PYTHON)/.test(name)),
  );
}

/**
 * One sidecar and what we are to it. `handlers` has a function for each method that we can be asked
 * for; what it returns, or the promise of it, is the answer, and what it throws is an error answer.
 */
export class Host extends EventEmitter {
  #handlers;
  #unanswered = new Map();
  #calls = 0;
  #rest = Buffer.alloc(0);
  /** Everything that we were asked, in order: `{id, method, params}`. */
  asked = [];
  /** The ids of questions that the sidecar took back. */
  withdrawn = [];

  constructor(root, handlers = {}) {
    super();
    this.#handlers = handlers;
    this.process = spawn(PROGRAM, ['--root', root], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: cleanEnvironment(),
    });
    this.exited = once(this.process, 'exit').then(([code]) => code);
    this.process.stdout.on('data', (chunk) => this.#receive(chunk));
    this.process.stdin.on('error', () => {}); // it is gone: `exited` tells
  }

  /** Say that we have live sessions. */
  initialize() {
    return this.call('initialize', { protocolVersion: 1, capabilities: { liveSessions: true } });
  }

  /** Send a request: its id, and the promise of its result. */
  begin(method, params) {
    const id = `call-${(this.#calls += 1)}`;
    const answered = new Promise((resolve, reject) => {
      this.#unanswered.set(id, { resolve, reject });
    });
    answered.catch(() => {}); // who begins a request may look at its failure later
    this.#send({ id, method, params });
    return { id, answered };
  }

  /** The result of a request. */
  call(method, params) {
    return this.begin(method, params).answered;
  }

  notify(method, params) {
    this.#send({ method, params });
  }

  /** Say that nothing more comes; the exit code. */
  end() {
    this.process.stdin.end();
    return this.exited;
  }

  /** The question number `count` for a method, now or when it comes. */
  async question(method, count = 1) {
    for (;;) {
      const found = this.asked.filter((each) => each.method === method);
      if (found.length >= count) return found[count - 1];
      await once(this, 'asked');
    }
  }

  /** Wait until the sidecar has taken back this question. */
  async withdrawal(id) {
    while (!this.withdrawn.includes(id)) await once(this, 'withdrawn');
  }

  #send(message) {
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #receive(chunk) {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (let at; (at = this.#rest.indexOf(0x0a)) >= 0; ) {
      const line = this.#rest.subarray(0, at).toString('utf8');
      this.#rest = this.#rest.subarray(at + 1);
      this.#take(JSON.parse(line));
    }
  }

  #take(message) {
    if (message.method === '$/cancelRequest') {
      this.withdrawn.push(message.params.id);
      this.emit('withdrawn');
    } else if (message.method !== undefined) {
      this.asked.push(message);
      this.emit('asked');
      this.#answer(message);
    } else {
      const { resolve, reject } = this.#unanswered.get(message.id);
      this.#unanswered.delete(message.id);
      if (message.error) reject(new RpcError(message.error));
      else resolve(message.result);
    }
  }

  async #answer({ id, method, params }) {
    try {
      this.#send({ id, result: await this.#handlers[method](params) });
    } catch (error) {
      this.#send({ id, error: { code: -32000, message: error.message } });
    }
  }
}

/** Sessions in memory, told in pages of at most `pageSize` events that a snapshot needs. */
export class Memory {
  constructor(sessions, pageSize = 2) {
    this.sessions = new Map(sessions.map((session) => [session.header.id, session]));
    this.pageSize = pageSize;
  }

  get handlers() {
    return {
      'host/listLiveSessions': () => ({ sessions: this.headers }),
      'host/readLiveSession': (params) => this.page(params),
    };
  }

  get headers() {
    return [...this.sessions.values()].map((session) => session.header);
  }

  page({ sessionId, afterSeq = -1 }) {
    const session = this.sessions.get(sessionId);
    if (session === undefined) return null;
    const rest = session.events.filter(({ seq, surfaceOp }) => seq > afterSeq && surfaceOp);
    const events = rest.slice(0, this.pageSize);
    const more = rest.length > events.length ? { nextSeq: events.at(-1).seq + 1 } : {};
    return { header: session.header, events, ...more };
  }
}
