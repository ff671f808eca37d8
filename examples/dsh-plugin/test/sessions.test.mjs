// The host's live sessions as they are told, page by page.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { liveSessions } from '../host/sessions.js'
import { Dsh, told, written } from './dsh.mjs'
import { NOWHERE, real, root } from './sidecars.mjs'

const MEGABYTE = 1024 * 1024
const HEADER = { id: 'one', createdAt: 1, version: 3 }

function storeOf(...sessions) {
  return {
    list: () => sessions,
    get: (id) => sessions.find(({ header }) => header.id === id),
  }
}

function eventsOf(...types) {
  return types.map((type, seq) => ({ seq, type, data: {} }))
}

/** Every page of a session, as the sidecar asks for them: the seqs on each. */
function pagesOf(store, sessionId) {
  const read = liveSessions(store)['host/readLiveSession']
  const pages = []
  for (let afterSeq; ;) {
    const { header, events, nextSeq } = read({ sessionId, afterSeq })
    assert.deepEqual(header, HEADER)
    pages.push(events.map(({ seq }) => seq))
    if (nextSeq === undefined) return pages
    assert.ok(nextSeq > events.at(-1).seq)
    afterSeq = nextSeq - 1
  }
}

test('the list has the header of each session', () => {
  const store = storeOf({ header: HEADER, events: [] }, { header: { id: 'two' }, events: [] })
  assert.deepEqual(liveSessions(store)['host/listLiveSessions']({}), {
    sessions: [HEADER, { id: 'two' }],
  })
})

test('a session that is not live is none', () => {
  assert.equal(liveSessions(storeOf())['host/readLiveSession']({ sessionId: 'one' }), null)
})

test('events come from whichever place this version of DSH has them in', () => {
  const events = eventsOf('user/message', 'turn/end')
  for (const session of [
    { header: HEADER, events },
    { header: HEADER, snapshotEvents: () => events },
    { header: HEADER, snapshotEvents: () => events, events: eventsOf('turn/end') },
  ]) {
    assert.deepEqual(pagesOf(storeOf(session), 'one'), [[0, 1]])
  }
  assert.deepEqual(pagesOf(storeOf({ header: HEADER, events: [] }), 'one'), [[]])
})

test('stream chunks are left out, but not the last event', () => {
  const chunk = 'assistant/chunk'
  const events = eventsOf('turn/start', chunk, chunk, 'assistant/message', chunk, chunk)
  assert.deepEqual(pagesOf(storeOf({ header: HEADER, events }), 'one'), [[0, 3, 5]])
})

test('a long session comes in pages, a long event on one of its own', () => {
  const events = eventsOf(...Array.from({ length: 6 }, () => 'user/message'))
  for (const seq of [1, 2, 4]) events[seq].data = 'é'.repeat(MEGABYTE) // two bytes each
  events[3].data = 'x'.repeat(9 * MEGABYTE)
  assert.deepEqual(pagesOf(storeOf({ header: HEADER, events }), 'one'), [[0, 1], [2], [3], [4, 5]])
})

test('the sidecar puts the pages together', { timeout: 120_000 }, async (t) => {
  const dsh = await Dsh.start(t)
  await dsh.load({ command: real(root(t)) })
  const live = dsh.sessions.create('nowhere', {})
  for (const text of ['x'.repeat(3 * MEGABYTE), 'y'.repeat(3 * MEGABYTE), 'the end']) {
    live.append('user/message', written(text), { surfaceOp: 'append' })
  }
  live.append('turn/start', { turn: 1 })
  const decision = await dsh.step([written(NOWHERE)])
  const [reference] = decision.messages[1].source.references
  assert.deepEqual([reference.originalMessages, reference.capturedThroughSeq], [3, 3])
  const [, [{ conversation }]] = told(decision)
  assert.deepEqual(conversation.map(({ text }) => text), ['the end'])
})
