// One sidecar process from its start to its end: the handshake, and the way out. Knows no restarts.

import { Child, type Exit, type SpawnOptions } from './child.js';
import { Connection, type Handlers } from './connection.js';
import { AbortError, RpcError, SidecarGoneError, SidecarUnavailableError } from './errors.js';
import { PROTOCOL_VERSION, type InitializeParams, type InitializeResult } from './protocol.js';

/** The sidecar queues no more output than this, so none of its lines is longer. In bytes. */
const INCOMING_LIMIT = 256 * 1024 * 1024;
/** How long a process that says nothing more gets to end by itself. */
const LEAVE_MS = 2000;

export interface SessionOptions extends SpawnOptions {
  initialize: InitializeParams;
  handlers: Handlers;
  startTimeoutMs: number;
  /** Aborted: a start that is under way is broken off. */
  signal: AbortSignal;
}

export class Session {
  readonly startedAt = performance.now();
  readonly connection: Connection;
  readonly #child: Child;
  #info: InitializeResult | undefined;

  private constructor(child: Child, handlers: Handlers) {
    this.#child = child;
    this.connection = new Connection(child.stdout, child.stdin, handlers, INCOMING_LIMIT);
  }

  /**
   * A sidecar that is ready. `onGone` is called when it has ended, before the calls that wait for
   * its answers are rejected. Rejects with `SidecarUnavailableError`.
   */
  static async open(
    options: SessionOptions,
    onGone: (session: Session, error: SidecarGoneError) => void,
  ): Promise<Session> {
    const child = await Child.start(options);
    const session = new Session(child, options.handlers);
    void session.#gone().then((error) => {
      if (session.#info) onGone(session, error);
      session.connection.close(error);
    });
    try {
      session.#info = await session.#initialize(options);
      session.connection.outgoingLimit = session.info.limits.maxLineBytes;
      return session;
    } catch (error) {
      child.kill();
      await child.exited;
      throw startFailure(options, error as Error);
    }
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** What it said when it was initialized. */
  get info(): InitializeResult {
    return this.#info!;
  }

  /** Shut it down in order, calls in flight answered first; kill it if that takes longer. */
  async close(timeoutMs: number): Promise<Exit> {
    const timer = setTimeout(() => this.#child.kill(), timeoutMs);
    try {
      await this.connection.request('shutdown');
      this.connection.notify('exit');
    } catch {
      // it refused, or it is gone: how it ended tells
    }
    this.connection.end();
    const exit = await this.#child.exited;
    clearTimeout(timer);
    return exit;
  }

  async #initialize(options: SessionOptions): Promise<InitializeResult> {
    const { initialize, startTimeoutMs } = options;
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(startTimeoutMs)]);
    const answer = await this.connection.request('initialize', initialize, signal);
    const info = answer as InitializeResult;
    if (info.protocolVersion === PROTOCOL_VERSION) return info;
    const versions = `version ${info.protocolVersion} of the protocol, not ${PROTOCOL_VERSION}`;
    throw new SidecarUnavailableError(`the sidecar speaks ${versions}`);
  }

  /** Why it is gone, as soon as it is. What can't be understood any more is ended by us. */
  async #gone(): Promise<SidecarGoneError> {
    let cause: Error | undefined;
    void this.connection.broken.then((reason) => {
      cause = reason;
      if (reason) this.#child.kill();
      else setTimeout(() => this.#child.kill(), LEAVE_MS).unref();
    });
    const { code, signal } = await this.#child.exited;
    const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
    const why = [cause?.message, this.#child.lastWords].filter(Boolean).join('; ');
    return new SidecarGoneError(`the sidecar ended with ${how}${why && `: ${why}`}`, { cause });
  }
}

function startFailure({ command, startTimeoutMs }: SessionOptions, cause: Error): Error {
  if (cause instanceof SidecarUnavailableError) return cause;
  const reason =
    cause instanceof AbortError
      ? `it did not answer \`initialize\` within ${startTimeoutMs} ms`
      : cause instanceof RpcError
        ? `it refused \`initialize\`: ${cause.message}`
        : cause.message;
  return new SidecarUnavailableError(`${command} can't be started: ${reason}`, { cause });
}
