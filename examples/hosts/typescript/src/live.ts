// The host's own sessions, told to the sidecar when it asks.

import type { LiveSessionHeader, ReadLiveSessionResult } from './protocol.js';

/**
 * Sessions in the host's memory. They win over the disk. `signal` is aborted when the sidecar does
 * not want the answer any more; what is thrown fails that reading only, as `data.cause: host`.
 */
export interface LiveSessions {
  list(signal: AbortSignal): LiveSessionHeader[] | Promise<LiveSessionHeader[]>;
  /** The events after a seq, or the first ones; null where there is no such session. */
  read(
    sessionId: string,
    afterSeq: number | undefined,
    signal: AbortSignal,
  ): LivePage | null | Promise<LivePage | null>;
}

export type LivePage = Omit<ReadLiveSessionResult, 'header' | 'events'> & {
  header: LiveSessionHeader;
  events: LiveEvent[];
};

/** An event as the log format has it. */
export interface LiveEvent {
  seq: number;
  type: string;
  [member: string]: unknown;
}

/** What the protocol allows for one page, less what stands around header and events. In bytes. */
const PAGE_BYTES = 8 * 1024 * 1024 - 1024;

/**
 * The page of a session whose events, in order, are all in memory. An event that is larger than a
 * page makes a page of its own.
 */
export function pageOf(
  header: LiveSessionHeader,
  events: readonly LiveEvent[],
  afterSeq = -1,
  maxBytes = PAGE_BYTES,
): LivePage {
  const page: LivePage = { header, events: [] };
  let room = maxBytes - sizeOf(header);
  for (let at = firstAfter(events, afterSeq); at < events.length; at += 1) {
    const event = events[at]!;
    room -= sizeOf(event) + 1;
    if (room < 0 && page.events.length > 0) return { ...page, nextSeq: event.seq };
    page.events.push(event);
  }
  return page;
}

const sizeOf = (value: object) => Buffer.byteLength(JSON.stringify(value));

/** Where the first event with a greater seq is. */
function firstAfter(events: readonly LiveEvent[], seq: number): number {
  let [low, high] = [0, events.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events[middle]!.seq > seq) high = middle;
    else low = middle + 1;
  }
  return low;
}
