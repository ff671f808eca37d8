// What a call can fail with. Each error says whether the same call may succeed later, so that a
// host need not know the table of codes.

import type { ErrorInfo } from './protocol.js';

/** Everything that this library throws, but for a TypeError on params that are no JSON. */
export abstract class SessionrefError extends Error {
  /** Whether the same call may succeed later. */
  abstract readonly retryable: boolean;
}

/** The sidecar answered with an error. `data.code` is its stable name. */
export class RpcError extends SessionrefError {
  override readonly name = 'RpcError';

  constructor(
    readonly code: number,
    message: string,
    readonly data: ErrorInfo | undefined,
  ) {
    super(message);
  }

  get retryable(): boolean {
    return this.data?.retryable === true;
  }
}

/** The sidecar ended before it answered. It is being started anew: ask again. */
export class SidecarGoneError extends SessionrefError {
  override readonly name = 'SidecarGoneError';
  readonly retryable = true;
}

/** There is no sidecar to ask, and there will be none: it can't be started, or was closed. */
export class SidecarUnavailableError extends SessionrefError {
  override readonly name = 'SidecarUnavailableError';
  readonly retryable = false;
}

/** Somebody cancelled the call: `cause` is the signal's reason, or the answer that says so. */
export class AbortError extends SessionrefError {
  override readonly name = 'AbortError';
  readonly code = 'ABORT_ERR';
  readonly retryable = false;

  constructor(cause: unknown) {
    super('the call was cancelled', { cause });
  }
}

/** A line is longer than may be: one of ours (then it was not sent), or one of the sidecar's. */
export class LineTooLongError extends SessionrefError {
  override readonly name = 'LineTooLongError';
  readonly retryable = false;

  constructor(limit: number) {
    super(`a line has more than ${limit} bytes`);
  }
}

/** What the sidecar wrote is no message. Met as the cause of a `SidecarGoneError`. */
export class ProtocolError extends SessionrefError {
  override readonly name = 'ProtocolError';
  readonly retryable = false;
}
