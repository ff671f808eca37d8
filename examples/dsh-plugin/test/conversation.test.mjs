// One process and what is said: with programs of a few lines at the other end.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { Conversation } from '../host/conversation.js'
import { scripted, until } from './sidecars.mjs'

const BOUND = { timeout: 60_000 }

/** A conversation with a program that does `then` with what it is asked; it ends with the test. */
function talk(t, then, handlers = {}) {
  return keep(t, new Conversation(scripted(then), handlers))
}

/** Wait for it, as nobody does by itself, and end it with the test. */
function keep(t, conversation) {
  const awake = setInterval(() => {}, 1_000)
  t.after(() => {
    clearInterval(awake)
    conversation.end('is not needed any more')
  })
  return conversation
}

test('answers go to their questions, in whatever order they come', BOUND, async (t) => {
  const conversation = talk(t, `
    (this.all ??= []).push(id)
    if (this.all.length === 3) for (const id of this.all.reverse()) {
      console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { id } }))
    }`)
  const answers = await Promise.all([1, 2, 3].map((id) => conversation.ask('any', { id })))
  assert.deepEqual(answers, [{ id: 1 }, { id: 2 }, { id: 3 }])
})

test('an answer may come in pieces, and in the middle of a character', BOUND, async (t) => {
  const conversation = talk(t, `
    const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result: '源\\u2028会话' }) + '\\n')
    const middle = bytes.indexOf('会') + 1
    process.stdout.write(bytes.subarray(0, middle))
    setTimeout(() => process.stdout.write(bytes.subarray(middle)), 100)`)
  assert.equal(await conversation.ask('any', {}), '源\u2028会话')
})

test('it answers what it is asked, also what it cannot', BOUND, async (t) => {
  const conversation = talk(t, `
    if (method === undefined) return (this.answers ??= []).push(JSON.parse(line))
      === 3 && console.log(JSON.stringify({ jsonrpc: '2.0', id: 1, result: this.answers }))
    for (const [id, method] of [['a', 'double'], ['b', 'fail'], ['c', 'constructor']]) {
      console.log(JSON.stringify({ jsonrpc: '2.0', id, method, params: { of: 4 } }))
    }
    console.log(JSON.stringify({ jsonrpc: '2.0', method: 'double' }))`, {
    double: ({ of }) => of * 2,
    fail: () => { throw new Error('a secret of the host') },
  })
  const answers = await conversation.ask('any', {})
  assert.deepEqual(answers.sort((one, other) => one.id.localeCompare(other.id)), [
    { jsonrpc: '2.0', id: 'a', result: 8 },
    { jsonrpc: '2.0', id: 'b', error: { code: -32603, message: 'the host failed' } },
    { jsonrpc: '2.0', id: 'c', error: { code: -32601, message: 'no such method' } },
  ])
})

test('a question that was taken back is not put, and a late answer is nobody\'s', BOUND, async (t) => {
  const conversation = talk(t, `
    if (method === 'slow') this.slow = id
    else for (const late of [this.slow, id]) {
      console.log(JSON.stringify({ jsonrpc: '2.0', id: late, result: method }))
    }`)
  await assert.rejects(conversation.ask('slow', {}, AbortSignal.abort('over')), { cause: 'over' })
  const turn = new AbortController()
  const slow = conversation.ask('slow', {}, turn.signal)
  turn.abort('over')
  await assert.rejects(slow, { code: 'SESSION_REFERENCE_CANCELLED', cause: 'over' })
  assert.equal(await conversation.ask('quick', {}), 'quick')
})

test('when it ends, whoever waits is told, and whoever asks later', BOUND, async (t) => {
  const conversation = talk(t, `setImmediate(() => process.exit(5))`)
  const why = { code: 'SESSION_REFERENCE_UNAVAILABLE', message: /ended \(exit code 5\)$/ }
  await Promise.all([1, 2].map(() => assert.rejects(conversation.ask('any', {}), why)))
  assert.equal(conversation.isOver, true)
  await assert.rejects(conversation.ask('any', {}), why)
})

test('a process that is gone before it is asked breaks nothing', BOUND, async (t) => {
  const command = [process.execPath, '-e', 'process.stdin.destroy()']
  const conversation = keep(t, new Conversation(command, {}))
  await assert.rejects(conversation.ask('any', { text: 'x'.repeat(4_000_000) }), /ended/)
  await until(() => conversation.isOver)
})
