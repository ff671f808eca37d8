/**
 * The host's live sessions, as the sidecar asks for them: they are ahead of their logs on disk.
 *
 * Only DSH's session service is known here, and of it only what all its versions have in common:
 * a list of sessions, each with a header and events in order.
 */

/** @typedef {{seq: number, type: string}} Event */

/**
 * @typedef {object} Session
 * @property {object} header
 * @property {readonly Event[]} [events] until 0.1.2-alpha.3
 * @property {() => readonly Event[]} [snapshotEvents] since 0.1.2-alpha.4
 */

/**
 * @typedef {object} SessionStore
 * @property {() => readonly Session[]} list
 * @property {(id: any) => Session | undefined} get
 */

/** What a page may take in JSON, in bytes. The wire allows 8 MiB with everything around it. */
const PAGE_BYTES = 4 * 1024 * 1024

/** Log-only events that make up most of a log, and that no snapshot is made of. */
const LEFT_OUT = 'assistant/chunk'

/**
 * What answers the sidecar's questions about live sessions.
 * @param {SessionStore} store
 * @returns {import('./conversation.js').Handlers}
 */
export function liveSessions(store) {
  return {
    'host/listLiveSessions': () => ({ sessions: store.list().map(({ header }) => header) }),
    'host/readLiveSession': ({ sessionId, afterSeq }) => {
      const session = store.get(sessionId)
      return session === undefined ? null : page(session, afterSeq ?? -1)
    },
  }
}

/**
 * @param {Session} session
 * @param {number} afterSeq the last seq that was told already
 */
function page(session, afterSeq) {
  const all = session.snapshotEvents?.() ?? session.events ?? []
  const last = all.at(-1)
  /** @type {Event[]} */
  const events = []
  let bytes = 0
  for (const event of all) {
    if (event.seq <= afterSeq) continue
    if (event.type === LEFT_OUT && event !== last) continue // the last tells how far it goes
    bytes += Buffer.byteLength(JSON.stringify(event))
    if (bytes > PAGE_BYTES && events.length > 0) {
      return { header: session.header, events, nextSeq: event.seq }
    }
    events.push(event)
  }
  return { header: session.header, events }
}
