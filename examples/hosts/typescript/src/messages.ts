// JSON-RPC 2.0 messages: a line to a message, and a message to a line. Knows no methods, no streams
// and no ids in flight.
//
// Ids are exact: `JSON.parse` rounds integers beyond 2^53, so such an id is read from the text
// again and kept as a bigint. Strings are ECMAScript's own, lone surrogates included: `JSON.stringify`
// escapes them and `JSON.parse` gives them back.

import { ProtocolError } from './errors.js';

export type Id = string | number | bigint;

export type Message =
  | { kind: 'request'; id: Id; method: string; params: unknown }
  | { kind: 'notification'; method: string; params: unknown }
  | { kind: 'result'; id: Id; result: unknown }
  /** `id` is null where the other side could not tell what it refuses. */
  | { kind: 'error'; id: Id | null; code: number; message: string; data: unknown };

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The message of a line; undefined for a blank one. Throws `ProtocolError`. */
export function decode(line: Buffer): Message | undefined {
  let text: string;
  let value: unknown;
  try {
    text = utf8.decode(line);
    if (/^[ \t\r]*$/.test(text)) return undefined;
    value = JSON.parse(text);
  } catch (error) {
    throw new ProtocolError('a line is no JSON', { cause: error });
  }
  const message = isObject(value) ? messageOf(value, text) : undefined;
  if (message === undefined) throw new ProtocolError('a line is no message');
  return message;
}

function messageOf(value: Members, text: string): Message | undefined {
  const { method, result, error } = value;
  const id = value['id'] === null ? null : exactId(value, () => quoteLongIntegers(text));
  if (typeof method === 'string') {
    if (!('id' in value)) return { kind: 'notification', method, params: exactParams(value, text) };
    return id == null ? undefined : { kind: 'request', id, method, params: value['params'] };
  }
  if (id === undefined) return undefined;
  if (isObject(error)) {
    const { code, message, data } = error;
    if (typeof code !== 'number' || typeof message !== 'string') return undefined;
    return { kind: 'error', id, code, message, data };
  }
  return id === null || !('result' in value) ? undefined : { kind: 'result', id, result };
}

/** The params of a notification: the id in them, of a request to cancel, is exact as well. */
function exactParams({ params }: Members, text: string): unknown {
  if (!isObject(params) || !('id' in params)) return params;
  return { ...params, id: exactId(params, () => quoteLongIntegers(text)['params'] as Members) };
}

/** The id of `value`; `quoted` tells its digits where it was rounded. Undefined if it is none. */
function exactId({ id }: Members, quoted: () => Members): Id | undefined {
  if (typeof id === 'string' || Number.isSafeInteger(id)) return id as Id;
  if (typeof id !== 'number') return undefined;
  const digits = quoted()['id'];
  return typeof digits === 'string' ? BigInt(digits) : undefined;
}

const STRING_OR_LONG_INTEGER = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/** A message once more, with each long integer as the string of its digits. */
function quoteLongIntegers(text: string): Members {
  const quoted = text.replace(STRING_OR_LONG_INTEGER, (found) =>
    found.startsWith('"') ? found : `"${found}"`,
  );
  return JSON.parse(quoted) as Members;
}

export type Members = Record<string, unknown>;

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// What goes out. Members of params that are undefined are left out, as `JSON.stringify` does.

export function encodeRequest(id: Id, method: string, params: unknown): Buffer {
  return encode({ id, method, params });
}

export function encodeNotification(method: string, params: unknown): Buffer {
  return encode({ method, params });
}

export function encodeResult(id: Id, result: unknown): Buffer {
  return encode({ id, result: result ?? null });
}

export function encodeError(id: Id, code: number, message: string): Buffer {
  return encode({ id, error: { code, message } });
}

function encode({ id, ...members }: { id?: Id; [member: string]: unknown }): Buffer {
  const rest = JSON.stringify(members).slice(1);
  const head = id === undefined ? '' : `"id":${typeof id === 'bigint' ? id : JSON.stringify(id)},`;
  return Buffer.from(`{"jsonrpc":"2.0",${head}${rest}\n`);
}
