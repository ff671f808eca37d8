// The sidecar as a host sees it: a typed call for each method, and a process that is started anew
// when it crashes.
//
// A call that is in flight when the process ends is rejected with a `SidecarGoneError`, which is
// retryable; nothing is asked twice behind the host's back. A call that is made meanwhile waits for
// the next process. The first start is not tried again: what never ran is wrong in its command.

import { setTimeout as pause } from 'node:timers/promises';

import { abortable } from './abort.js';
import type { Exit, SpawnOptions } from './child.js';
import type { Handlers } from './connection.js';
import { RpcError, SidecarUnavailableError, type SidecarGoneError } from './errors.js';
import { isObject } from './messages.js';
import type { LiveSessions } from './live.js';
import {
  ErrorCode,
  PROTOCOL_VERSION,
  type ClientInfo,
  type ConfigInput,
  type HostNotifications,
  type HostRequests,
  type InitializeResult,
  type LiveSessionHeader,
  type PrepareParams,
  type PreStepParams,
  type PreStepResult,
  type ProgressValue,
  type SidecarRequests,
} from './protocol.js';
import { DEFAULT_POLICY, delayBefore, type RestartPolicy } from './restart.js';
import { Session } from './session.js';
import type { ContextMessage, Decision, NextStep } from './steps.js';

export interface SidecarOptions extends SpawnOptions {
  clientInfo?: ClientInfo;
  /** Ceilings for every request. */
  config?: ConfigInput;
  liveSessions?: LiveSessions;
  restart?: Partial<RestartPolicy>;
  /** How long a process gets to answer `initialize`. Default 30 000. */
  startTimeoutMs?: number;
  /** How long it gets to end in order; then it is killed. Default 5 000. */
  closeTimeoutMs?: number;
  /** Told after the fact, for logs and for people. */
  onChange?: (change: SidecarChange) => void;
}

export type SidecarChange =
  | { kind: 'lost'; error: Error; restartInMs: number }
  | { kind: 'restarted'; info: InitializeResult; pid: number }
  | { kind: 'gave-up'; error: SidecarUnavailableError };

export interface CallOptions {
  /** Aborted: the sidecar is told, and the call rejects with an `AbortError` at once. */
  signal?: AbortSignal | undefined;
}

export interface ListOptions extends CallOptions {
  /** Called while titles are still being read. */
  onProgress?: (value: ProgressValue) => void;
}

type Method = keyof SidecarRequests;
type Params<M extends Method> = SidecarRequests[M]['params'];
type Result<M extends Method> = Promise<SidecarRequests[M]['result']>;

const START_MS = 30_000;
const CLOSE_MS = 5_000;

export class Sidecar {
  readonly #options: SidecarOptions;
  readonly #policy: RestartPolicy;
  readonly #progress = new Map<string, (value: ProgressValue) => void>();
  readonly #stopping = new AbortController();
  /** The process to ask, as soon as there is one. */
  #ready: Promise<Session>;
  #session: Session | undefined;
  /** In a row: a process that lived long enough begins a new one. */
  #restarts = 0;
  #lists = 0;
  #closing: Promise<Exit | undefined> | undefined;

  private constructor(options: SidecarOptions) {
    this.#options = options;
    this.#policy = { ...DEFAULT_POLICY, ...options.restart };
    this.#ready = this.#open();
  }

  /** A sidecar that is ready. Rejects with `SidecarUnavailableError`. */
  static async start(options: SidecarOptions): Promise<Sidecar> {
    const sidecar = new Sidecar(options);
    await sidecar.#ready;
    return sidecar;
  }

  /** What the process said when it was initialized; after a restart, the new one. */
  get info(): InitializeResult {
    return this.#session!.info;
  }

  get pid(): number {
    return this.#session!.pid;
  }

  // What can be asked. Each rejects with one of the errors of errors.ts.

  /** What to do with the messages of the agent's next step. */
  preStep<M extends object>(
    params: Omit<PreStepParams, 'decision'> & { decision: Decision<M> },
    options?: CallOptions,
  ): Promise<PreStepResult & { decision: NextStep<M> }> {
    const result = this.#call('preStep', params, options);
    return result as Promise<PreStepResult & { decision: NextStep<M> }>;
  }

  /** Snapshots of given sessions, for hosts that find mentions themselves. */
  prepare<C>(
    params: Omit<PrepareParams, 'content'> & { content: C },
    options?: CallOptions,
  ): Promise<{ content: C; additionalContext?: ContextMessage }> {
    const result = this.#call('prepare', params, options);
    return result as Promise<{ content: C; additionalContext?: ContextMessage }>;
  }

  /** The sessions that could be referred to, best first. */
  async listCandidates(
    params: Omit<Params<'listCandidates'>, 'workDoneToken'>,
    { onProgress, ...options }: ListOptions = {},
  ): Result<'listCandidates'> {
    if (onProgress === undefined) return this.#call('listCandidates', params, options);
    const workDoneToken = `list-${(this.#lists += 1)}`;
    this.#progress.set(workDoneToken, onProgress);
    try {
      return await this.#call('listCandidates', { ...params, workDoneToken }, options);
    } finally {
      this.#progress.delete(workDoneToken);
    }
  }

  /** What `prepare` would keep, drop or answer, in numbers. */
  preview(params: Params<'preview'>, options?: CallOptions): Result<'preview'> {
    return this.#call('preview', params, options);
  }

  /** A page of all that could be quoted of one session, to be shown to people. */
  readSnapshot(params: Params<'readSnapshot'>, options?: CallOptions): Result<'readSnapshot'> {
    return this.#call('readSnapshot', params, options);
  }

  /** Which message each context message belongs to, and a line to show for each source. */
  describeTranscript(
    params: Params<'describeTranscript'>,
    options?: CallOptions,
  ): Result<'describeTranscript'> {
    return this.#call('describeTranscript', params, options);
  }

  /** The mentions in a text, and the text made readable. */
  parseText(params: Params<'parseText'>, options?: CallOptions): Result<'parseText'> {
    return this.#call('parseText', params, options);
  }

  /** The mention of a session. */
  formatMention(params: Params<'formatMention'>, options?: CallOptions): Result<'formatMention'> {
    return this.#call('formatMention', params, options);
  }

  status(options?: CallOptions): Result<'status'> {
    return this.#call('status', {}, options);
  }

  // What can be told. Nothing is answered, and a process that starts later need not know it.

  /** Cancel every call with this `cancellationToken`: each rejects with an `AbortError`. */
  cancel(token: string | number): void {
    this.#session?.connection.notify('$/cancel', { token });
  }

  /** The live sessions are these now; without them, they are to be asked for anew. */
  sessionsChanged(sessions?: LiveSessionHeader[]): void {
    this.#session?.connection.notify('sessions/changed', sessions && { sessions });
  }

  /**
   * End the process in order; calls in flight fail, and so does every later one. Returns how it
   * ended, or undefined where there was none. Calling it again changes nothing.
   */
  close(): Promise<Exit | undefined> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<Exit | undefined> {
    this.#stopping.abort();
    const session = await this.#ready.catch(() => undefined);
    return session?.close(this.#options.closeTimeoutMs ?? CLOSE_MS);
  }

  async #call<M extends Method>(
    method: M,
    params: Params<M>,
    { signal }: CallOptions = {},
  ): Result<M> {
    if (this.#closing) throw new SidecarUnavailableError('the sidecar was closed');
    const session = await abortable(this.#ready, signal);
    return session.connection.request(method, params, signal) as Result<M>;
  }

  // How it is kept alive

  async #open(): Promise<Session> {
    const { clientInfo, config, liveSessions, startTimeoutMs = START_MS } = this.#options;
    const initialize = {
      protocolVersion: PROTOCOL_VERSION,
      capabilities: { liveSessions: liveSessions !== undefined },
      ...(clientInfo && { clientInfo }),
      ...(config && { config }),
    };
    const session = await Session.open(
      {
        ...this.#options,
        initialize,
        startTimeoutMs,
        handlers: this.#handlers(),
        signal: this.#stopping.signal,
      },
      (lost, error) => this.#lose(lost, error),
    );
    this.#session = session;
    return session;
  }

  #lose(session: Session, error: SidecarGoneError): void {
    if (this.#closing) return;
    if (performance.now() - session.startedAt >= this.#policy.steadyAfterMs) this.#restarts = 0;
    this.#ready = this.#restart(error);
    this.#ready.catch(() => {}); // whoever calls is told
  }

  async #restart(why: Error): Promise<Session> {
    for (let error = why; ;) {
      if (this.#restarts >= this.#policy.limit) throw this.#giveUp(error);
      const restartInMs = delayBefore(this.#restarts, this.#policy);
      this.#restarts += 1;
      this.#tell({ kind: 'lost', error, restartInMs });
      try {
        await pause(restartInMs, undefined, { signal: this.#stopping.signal });
        const session = await this.#open();
        this.#tell({ kind: 'restarted', info: session.info, pid: session.pid });
        return session;
      } catch (failure) {
        if (this.#closing) throw new SidecarUnavailableError('the sidecar was closed');
        error = failure as Error;
      }
    }
  }

  #giveUp(cause: Error): SidecarUnavailableError {
    const message = `gave up after ${this.#policy.limit} restarts: ${cause.message}`;
    const error = new SidecarUnavailableError(message, { cause });
    this.#tell({ kind: 'gave-up', error });
    return error;
  }

  #tell(change: SidecarChange): void {
    const { onChange } = this.#options;
    if (onChange) queueMicrotask(() => onChange(change));
  }

  // What we are asked and told

  #handlers(): Handlers {
    return {
      answer: (method, params, signal) => this.#answer(method, params, signal),
      hear: (method, params) => this.#hear(method, params),
    };
  }

  async #answer(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const { liveSessions } = this.#options;
    switch (liveSessions && (method as keyof HostRequests)) {
      case 'host/listLiveSessions':
        return { sessions: await liveSessions!.list(signal) };
      case 'host/readLiveSession': {
        const asked = params as HostRequests['host/readLiveSession']['params'];
        return liveSessions!.read(asked.sessionId, asked.afterSeq ?? undefined, signal);
      }
      default:
        throw new RpcError(ErrorCode.METHOD_NOT_FOUND, `there is no ${method} here`, undefined);
    }
  }

  #hear(method: string, params: unknown): void {
    if (method !== '$/progress' || !isObject(params)) return;
    const { token, value } = params as unknown as HostNotifications['$/progress']['params'];
    const report = this.#progress.get(String(token));
    if (report) queueMicrotask(() => report(value)); // what it throws is not for our reader
  }
}
