// Two that would add the same context: whichever comes first, it is there once, nothing fails on
// loading, and stepping back is said once.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { SessionReferenceResolver } from '@deepseek-ai/dsh-session-reference'

import * as plugin from '../host/index.js'
import { Dsh, told, written } from './dsh.mjs'
import { LOGIN, MENTION, NOWHERE, real, root } from './sidecars.mjs'

const BOUND = { timeout: 120_000 }
const ACTIVE = 2

/** A host whose session query knows the session of `MENTION`, other than it is on disk. */
async function hostWithQuery(t) {
  const dsh = await Dsh.start(t)
  const data = written('as DSH reads it')
  dsh.ctx.provide('sessionQuery', {
    readSurface: async (id) => ({
      session: { id, cwd: '/work/shop' },
      capturedThroughSeq: 9,
      events: [{ type: 'user/message', seq: 9, data }],
    }),
  })
  return dsh
}

/** Who made the one snapshot that there is. */
function maker(decision) {
  const [first, ...others] = told(decision).filter(Array.isArray)
  assert.deepEqual(others, [])
  return first[0].conversation[0].text === LOGIN.conversation[0].text ? 'plugin' : 'DSH'
}

const ORDERS = {
  'first': async (loadResolver, loadPlugin) => [await loadResolver(), await loadPlugin()],
  'last': async (loadResolver, loadPlugin) => {
    const row = await loadPlugin()
    return [await loadResolver(), row]
  },
  'at the same time': (loadResolver, loadPlugin) => Promise.all([loadResolver(), loadPlugin()]),
  'at the same time, behind': async (loadResolver, loadPlugin) =>
    (await Promise.all([loadPlugin(), loadResolver()])).reverse(),
}

for (const [when, inOrder] of Object.entries(ORDERS)) {
  for (const policy of ['native', 'never-block']) {
    test(`DSH's own resolver is loaded ${when} (${policy})`, BOUND, async (t) => {
      const dsh = await hostWithQuery(t)
      const command = real(root(t))
      const rows = await inOrder(
        async () => await dsh.ctx.plugin(SessionReferenceResolver, {}),
        async () => await dsh.load({ policy, command }),
      )
      assert.deepEqual(rows.map(({ state }) => state), [ACTIVE, ACTIVE])
      for (let step = 0; step < 3; step += 1) {
        const decision = await dsh.step([written(`as in ${MENTION}`)])
        assert.equal(maker(decision), 'DSH')
        assert.deepEqual(told(decision)[0], 'as in @Fix login')
      }
      const said = dsh.said.filter((text) => text.includes("DSH's own resolver"))
      assert.ok(dsh.said.length === said.length && said.length <= 1)

      await rows[0].dispose()
      assert.equal(maker(await dsh.step([written(MENTION)])), 'plugin')
    })
  }
}

test('stepping back is said once', BOUND, async (t) => {
  const dsh = await hostWithQuery(t)
  await dsh.load({ command: real(root(t)) })
  await dsh.ctx.plugin(SessionReferenceResolver, {})
  for (let step = 0; step < 3; step += 1) await dsh.step([written(MENTION)])
  assert.deepEqual(dsh.said, [
    "session references are made by DSH's own resolver already: this plugin leaves them alone",
  ])
})

test('a resolver that is only being loaded counts', BOUND, async (t) => {
  const dsh = await hostWithQuery(t)
  await dsh.load({ command: real(root(t)) })
  let finish
  const slow = dsh.ctx.plugin({
    inject: ['sessionQuery'],
    apply: (ctx) => {
      new SessionReferenceResolver(ctx, {})
      return new Promise((resolve) => { finish = resolve })
    },
  })
  await new Promise(setImmediate)
  assert.equal(maker(await dsh.step([written(MENTION)])), 'DSH')
  finish()
  await slow
})

test('this plugin twice: the first one works, and the second when the first is gone', BOUND, async (t) => {
  const dsh = await Dsh.start(t)
  const command = real(root(t))
  const copy = { ...plugin, apply: (...args) => plugin.apply(...args) }
  const [first, second] = await Promise.all([
    dsh.load({ command }),
    (async () => await dsh.ctx.plugin(copy, { command, policy: 'never-block', deadlineMs: 60_000 }))(),
  ])
  assert.deepEqual([first.state, second.state], [ACTIVE, ACTIVE])
  for (let step = 0; step < 2; step += 1) {
    assert.deepEqual(told(await dsh.step([written(MENTION)])), ['@Fix login', [LOGIN]])
  }
  await first.dispose()
  assert.deepEqual(told(await dsh.step([written(MENTION)])), [[LOGIN], '@Fix login'])
})

test('this plugin twice: the second does not decide where the first passes', BOUND, async (t) => {
  const dsh = await Dsh.start(t)
  await dsh.load({ policy: 'never-block', command: real(root(t)) })
  const copy = { ...plugin, apply: (...args) => plugin.apply(...args) }
  await dsh.ctx.plugin(copy, { command: ['/nowhere/sessionref'] })
  for (let step = 0; step < 2; step += 1) {
    assert.deepEqual(told(await dsh.step([written(NOWHERE)])), [NOWHERE])
  }
  assert.deepEqual(dsh.said.filter((text) => text.includes('another copy')), [
    'session references are made by another copy of this plugin already: '
      + 'this plugin leaves them alone',
  ])
})

function withAt(place, item, list) {
  return [...list.slice(0, place), item, ...list.slice(place)]
}

test('another plugin that adds context, before or after its message', BOUND, async (t) => {
  for (const place of [0, 1]) {
    const dsh = await Dsh.start(t)
    dsh.ctx.on('agent/pre-step', async (_, next) => {
      const { kind, messages } = await next()
      const text = '<referenced-sessions>\n[]\n</referenced-sessions>'
      const recall = written(text, { source: { kind: 'session-reference' } })
      return { kind, messages: withAt(place, recall, messages) }
    })
    await dsh.load({ command: real(root(t)) })
    for (let step = 0; step < 2; step += 1) {
      assert.deepEqual(told(await dsh.step([written(MENTION)])), withAt(place, [], [MENTION]))
    }
    assert.deepEqual(dsh.said, [
      'session references are made by another plugin already: this plugin leaves them alone',
    ])
  }
})

test('context that was in the step before anybody looked is no sign of another', BOUND, async (t) => {
  const dsh = await Dsh.start(t)
  await dsh.load({ command: real(root(t)) })
  const text = '<referenced-sessions>\n[]\n</referenced-sessions>'
  const old = written(text, { source: { kind: 'session-reference' } })
  assert.deepEqual(told(await dsh.step([old, written(MENTION)])), [[], '@Fix login', [LOGIN]])
})
