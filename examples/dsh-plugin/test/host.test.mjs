// The host half in a host made of DSH's own packages, with the real sidecar.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

import { AGENT_ID, Dsh, told, written } from './dsh.mjs'
import {
  LOGIN, MENTION, NOWHERE, Tapped, folder, isAlive, kill, real, root, scripted, until,
} from './sidecars.mjs'

const BOUND = { timeout: 120_000 }
const NOT_THERE = ['/nowhere/sessionref']
const UNAVAILABLE = { name: 'SessionReferenceError', code: 'SESSION_REFERENCE_UNAVAILABLE' }
const CANCELLED = { name: 'SessionReferenceError', code: 'SESSION_REFERENCE_CANCELLED' }

/** A host with the plugin in it. */
async function hostWith(t, config) {
  const dsh = await Dsh.start(t)
  await dsh.load(config)
  return dsh
}

test('native: the snapshot comes right after its message', BOUND, async (t) => {
  const dsh = await hostWith(t, { command: real(root(t)) })
  const messages = [written('hello'), written(`as in ${MENTION}`), written('bye')]
  const decision = await dsh.step(messages)
  assert.deepEqual(told(decision), ['hello', 'as in @Fix login', [LOGIN], 'bye'])
  assert.deepEqual(decision.messages.map(({ id }) => id).filter((_, place) => place !== 2),
    messages.map(({ id }) => id))
  const { source } = decision.messages[2]
  assert.deepEqual([source.kind, source.form, source.references.length],
    ['session-reference', 'recall', 1])
  assert.deepEqual(dsh.said, [])
})

test('what comes back can be stored by the host', BOUND, async (t) => {
  const dsh = await hostWith(t, { command: real(root(t)) })
  const { session } = dsh.agent
  for (const message of (await dsh.step([written(MENTION)])).messages) {
    session.append('user/message', message, { surfaceOp: 'append' })
  }
  const kinds = session.deriveMessages().map(({ source }) => source.kind)
  assert.deepEqual(kinds, ['user', 'session-reference'])
})

test('native: a failure ends the step, and says which', BOUND, async (t) => {
  const dsh = await hostWith(t, { command: real(root(t)) })
  await assert.rejects(dsh.step([written(MENTION), written(NOWHERE)]), (error) => {
    assert.equal(error.name, 'SessionReferenceError')
    assert.equal(error.code, 'SESSION_REFERENCE_READ_FAILED')
    assert.deepEqual([error.data.cause, error.data.sessionId], ['not_found', 'nowhere'])
    return true
  })
})

test('never-block: the snapshot comes right before its message', BOUND, async (t) => {
  const dsh = await hostWith(t, { policy: 'never-block', command: real(root(t)) })
  const decision = await dsh.step([written('hello'), written(`as in ${MENTION}`)])
  assert.deepEqual(told(decision), ['hello', [LOGIN], 'as in @Fix login'])
})

test('never-block: a message that fails goes on, and that is said', BOUND, async (t) => {
  const dsh = await hostWith(t, { policy: 'never-block', command: real(root(t)) })
  const failing = written(`see ${NOWHERE}`)
  const decision = await dsh.step([failing, written(MENTION)])
  assert.deepEqual(told(decision), [`see ${NOWHERE}`, [LOGIN], '@Fix login'])
  assert.deepEqual(decision.messages[0], failing)
  assert.equal(dsh.said.length, 1)
  assert.match(dsh.said[0], new RegExp(`^message ${failing.id} goes on without`))
})

test('a reject comes back as it is', BOUND, async (t) => {
  const dsh = await hostWith(t, { command: NOT_THERE })
  const reject = { kind: 'reject', because: Symbol('as it is') }
  dsh.ctx.on('agent/pre-step', async () => reject)
  assert.equal(await dsh.step([written(MENTION)]), reject)
})

test('who is behind in the chain decides first', BOUND, async (t) => {
  const dsh = await Dsh.start(t)
  dsh.ctx.on('agent/pre-step', async (_, next) => {
    const { messages } = await next()
    return { kind: 'enter', messages: [written(MENTION), ...messages], mark: 'kept' }
  })
  await dsh.load({ command: real(root(t)) })
  const decision = await dsh.step([written('hello')])
  assert.deepEqual(told(decision), ['@Fix login', [LOGIN], 'hello'])
  assert.equal(decision.mark, 'kept')
})

test('a step that mentions nothing needs no sidecar', BOUND, async (t) => {
  const dsh = await hostWith(t, { command: NOT_THERE })
  const messages = [
    written('hello @you'),
    written(MENTION, { source: { kind: 'plugin', plugin: 'other' } }),
    written('', { content: [{ type: 'image', text: MENTION }] }),
  ]
  const decision = await dsh.step(messages)
  assert.equal(decision.messages, messages)
  assert.deepEqual(dsh.said, [])
})

test('a turn that is cancelled ends at once, and the sidecar hears of it', BOUND, async (t) => {
  for (const policy of ['native', 'never-block']) {
    await t.test(policy, BOUND, async (t) => {
      const tapped = new Tapped(t, root(t))
      const dsh = await hostWith(t, { policy, command: tapped.command })
      await dsh.step([written(MENTION)])
      kill(tapped.pids[1], 'SIGSTOP')
      const turn = new AbortController()
      const step = dsh.step([written(MENTION)], turn.signal)
      const { id } = await tapped.question('preStep', 2)
      turn.abort({ kind: 'user' })
      await assert.rejects(step, { ...CANCELLED, cause: { kind: 'user' } })
      assert.deepEqual((await tapped.question('$/cancelRequest')).params, { id })
      kill(tapped.pids[1], 'SIGCONT')
      assert.deepEqual(told(await dsh.step([written(MENTION)])), told(
        policy === 'native'
          ? { messages: [written('@Fix login'), recall()] }
          : { messages: [recall(), written('@Fix login')] },
      ))
      assert.equal(tapped.pids.length, 2)
    })
  }
})

/** A context message with the snapshot of the session that `MENTION` means. */
function recall() {
  const text = `<referenced-sessions>\n${JSON.stringify([LOGIN])}\n</referenced-sessions>`
  return written(text, { source: { kind: 'session-reference' } })
}

test('a turn that is cancelled already asks nobody', BOUND, async (t) => {
  const dsh = await hostWith(t, { policy: 'never-block', command: NOT_THERE })
  const signal = AbortSignal.abort({ kind: 'user' })
  await assert.rejects(dsh.step([written(MENTION)], signal), CANCELLED)
})

test('a turn that is cancelled while the sidecar starts', BOUND, async (t) => {
  const dsh = await hostWith(t, { command: ['sleep', '60'] })
  const turn = new AbortController()
  const step = dsh.step([written(MENTION)], turn.signal)
  setImmediate(() => turn.abort({ kind: 'user' }))
  await assert.rejects(step, CANCELLED)
})

test('no sidecar: the policy decides', BOUND, async (t) => {
  const strict = await hostWith(t, { command: NOT_THERE })
  await assert.rejects(strict.step([written(MENTION)]), { ...UNAVAILABLE, message: /ENOENT/ })

  const lenient = await hostWith(t, { policy: 'never-block', command: NOT_THERE })
  const messages = [written(MENTION)]
  assert.equal((await lenient.step(messages)).messages, messages)
  assert.match(lenient.said[0], /goes on without its session references: .* did not start: .*ENOENT/)
})

test('a sidecar that comes later is found', BOUND, async (t) => {
  const program = join(folder(t), 'sessionref')
  const [installed, ...args] = real(root(t))
  const dsh = await hostWith(t, { command: [program, ...args] })
  await assert.rejects(dsh.step([written(MENTION)]), UNAVAILABLE)
  symlinkSync(installed, program)
  assert.deepEqual(told(await dsh.step([written(MENTION)])), ['@Fix login', [LOGIN]])
})

const DEAD = {
  'ends at once': [[process.execPath, '-e', 'process.exit(3)'], /ended \(exit code 3\)/],
  'ends with a complaint': [
    [process.execPath, '-e', 'console.error("no root"); process.exit(2)'], /\(exit code 2\): no root$/,
  ],
  'is no program': [['/'], /did not start/],
  'speaks another language': [['echo', 'Usage: …'], /said something that is not JSON/],
  'speaks another version': [scripted('', 2), /speaks version 2/],
  'dies of every question': [scripted('process.exit(7)'), /ended \(exit code 7\)/],
  'does not like its settings': [
    [...real('/nowhere'), '--max-reference-bytes', '0'], /ended \(exit code 2\)/,
  ],
}

for (const [what, [command, why]] of Object.entries(DEAD)) {
  test(`a sidecar that ${what}: the policy decides`, BOUND, async (t) => {
    const strict = await hostWith(t, { command })
    await assert.rejects(strict.step([written(MENTION)]), { ...UNAVAILABLE, message: why })
    const lenient = await hostWith(t, { policy: 'never-block', command })
    const messages = [written(MENTION)]
    assert.equal((await lenient.step(messages)).messages, messages)
    assert.match(lenient.said[0], why)
  })
}

test('a sidecar that refuses a question: the policy decides', BOUND, async (t) => {
  const command = scripted(`say({ error: { code: -32000, message: 'too much', data: { code: 'SIDECAR_BUSY' } } })`)
  const strict = await hostWith(t, { command })
  await assert.rejects(strict.step([written(MENTION)]), { code: 'SIDECAR_BUSY', message: 'too much' })
  const lenient = await hostWith(t, { policy: 'never-block', command })
  assert.deepEqual(told(await lenient.step([written(MENTION)])), [MENTION])
})

test('a sidecar that is silent is killed, and the policy decides', BOUND, async (t) => {
  const tapped = new Tapped(t, root(t))
  const dsh = await hostWith(t, { policy: 'never-block', command: tapped.command, deadlineMs: 6000 })
  assert.deepEqual(told(await dsh.step([written(MENTION)])), [[LOGIN], '@Fix login'])
  kill(tapped.pids[1], 'SIGSTOP')
  const messages = [written(MENTION)]
  assert.equal((await dsh.step(messages)).messages, messages)
  assert.match(dsh.said[0], /sidecar does not answer/)
  await until(() => !isAlive(tapped.pids[0]))
  assert.deepEqual(told(await dsh.step([written(MENTION)])), [[LOGIN], '@Fix login'])
})

test('a sidecar that is slow keeps the deadline itself', BOUND, async (t) => {
  const tapped = new Tapped(t, root(t), 'host/readLiveSession')
  const lenient = await hostWith(t, { policy: 'never-block', command: tapped.command, deadlineMs: 6000 })
  lenient.sessions.create('nowhere', {})
  assert.deepEqual(told(await lenient.step([written(NOWHERE)])), [NOWHERE])
  assert.match(lenient.said[0], /^message \S+ goes on without its session references/)

  const strict = await hostWith(t, { command: tapped.command, deadlineMs: 6000 })
  strict.sessions.create('nowhere', {})
  await assert.rejects(strict.step([written(NOWHERE)]), CANCELLED)
  assert.equal(tapped.pids.filter(isAlive).length, 4)
})

test('a sidecar that dies while it is asked is replaced within the step', BOUND, async (t) => {
  const tapped = new Tapped(t, root(t))
  const dsh = await hostWith(t, { command: tapped.command })
  await dsh.step([written(MENTION)])
  kill(tapped.pids[1], 'SIGSTOP')
  const steps = [dsh.step([written(MENTION)]), dsh.step([written(`and ${MENTION}`)])]
  await tapped.question('preStep', 3)
  kill(tapped.pids[0], 'SIGKILL')
  kill(tapped.pids[1], 'SIGKILL')
  assert.deepEqual((await Promise.all(steps)).map(told), [
    ['@Fix login', [LOGIN]], ['and @Fix login', [LOGIN]],
  ])
  assert.equal(tapped.pids.length, 4, 'one new process serves both')
  assert.equal(tapped.asked.filter(({ method }) => method === 'initialize').length, 2)
})

test('a sidecar that dies between two steps is replaced', BOUND, async (t) => {
  const tapped = new Tapped(t, root(t))
  const dsh = await hostWith(t, { command: tapped.command })
  await dsh.step([written(MENTION)])
  kill(tapped.pids[0], 'SIGKILL')
  assert.deepEqual(told(await dsh.step([written(MENTION)])), ['@Fix login', [LOGIN]])
})

test('a session of the host is ahead of its log, and of no disk at all', BOUND, async (t) => {
  const dsh = await hostWith(t, { command: real(root(t)) })
  const live = dsh.sessions.create('nowhere', { meta: { cwd: '/work/other' } })
  live.append('user/message', written('only in memory'), { surfaceOp: 'append' })
  const [, [snapshot]] = told(await dsh.step([written(NOWHERE)]))
  assert.deepEqual(snapshot, {
    sessionId: 'nowhere',
    label: 'Gone',
    cwd: '/work/other',
    capturedThroughSeq: 0,
    conversation: [{ role: 'user', text: 'only in memory' }],
  })
  live.append('user/message', written('and now this'), { surfaceOp: 'append' })
  const [, [later]] = told(await dsh.step([written(NOWHERE)]))
  assert.deepEqual(later.conversation.map(({ text }) => text), ['only in memory', 'and now this'])
})

test("the agent's own session is none to refer to", BOUND, async (t) => {
  const dsh = await hostWith(t, { command: real(root(t)) })
  const own = Buffer.from(JSON.stringify(AGENT_ID)).toString('base64url')
  await assert.rejects(dsh.step([written(`dsh-session:${own}`)]), {
    code: 'SESSION_REFERENCE_SELF_REFERENCE',
  })
})

test('settings bound what is quoted', BOUND, async (t) => {
  const path = root(t)
  const one = await hostWith(t, { command: real(path), maxReferences: 1 })
  await assert.rejects(one.step([written(MENTION + NOWHERE)]), { code: 'SESSION_REFERENCE_TOO_MANY' })
  const small = await hostWith(t, { command: real(path), maxReferenceBytes: 120 })
  await assert.rejects(small.step([written(MENTION)]), { code: 'SESSION_REFERENCE_BUDGET_EXCEEDED' })
})

test('switched off, nothing is touched', BOUND, async (t) => {
  const dsh = await hostWith(t, { enabled: false, command: real(root(t)) })
  const messages = [written(MENTION)]
  assert.equal((await dsh.step(messages)).messages, messages)
})

const BAD = {
  'policy: must be native or never-block': { policy: 'nevr-block' },
  'maxReferences: must be 1, 2 or 3': { maxReferences: 4 },
  'maxReferenceBytes: must be a whole number above 0': { maxReferenceBytes: 0.5 },
  'command: must be a program, or a list of a program and its arguments': { command: [] },
  'enabled: must be true or false': { enabled: 'no' },
  'deadlineMs: must be a whole number from 1 to 600000': { deadlineMs: 0 },
}

for (const [reason, config] of Object.entries(BAD)) {
  test(`bad settings are told by the host: ${reason}`, BOUND, async (t) => {
    const dsh = await Dsh.start(t)
    const [place, what] = reason.split(': ')
    await assert.rejects(dsh.load(config), { message: `invalid config:\n  - ${what} (at ${place})` })
  })
}

test('settings that are not a mapping', BOUND, async (t) => {
  const dsh = await Dsh.start(t)
  await assert.rejects(dsh.load(['native']), { message: 'invalid config:\n  - must be a mapping (at )' })
})

test('unset settings have their defaults; a command may be one word', BOUND, async (t) => {
  const [program, ...args] = real(root(t))
  const environment = {
    PATH: `${join(program, '..')}:${process.env.PATH}`,
    SESSIONREF_ROOTS: args[1],
    SESSIONREF_CACHE_DIR: folder(t),
  }
  const before = { ...process.env }
  Object.assign(process.env, environment)
  t.after(() => {
    for (const name of Object.keys(environment)) delete process.env[name]
    Object.assign(process.env, before)
  })
  for (const config of [undefined, { policy: null }, { command: 'sessionref' }]) {
    const dsh = await hostWith(t, config)
    assert.deepEqual(told(await dsh.step([written(MENTION)])), ['@Fix login', [LOGIN]])
  }
})

test('unloaded, it leaves nothing behind', BOUND, async (t) => {
  const tapped = new Tapped(t, root(t))
  const dsh = await Dsh.start(t)
  const row = await dsh.load({ command: tapped.command })
  await dsh.step([written(MENTION)])
  assert.deepEqual(tapped.pids.map(isAlive), [true, true])
  await row.dispose()
  assert.deepEqual(tapped.pids.map(isAlive), [false, false])
  const messages = [written(MENTION)]
  assert.equal((await dsh.step(messages)).messages, messages)
})

test('a host that has nothing left to do can go, and the sidecar goes with it', BOUND, async (t) => {
  const tapped = new Tapped(t, root(t))
  const script = `
    import { Sidecar } from ${JSON.stringify(new URL('../host/sidecar.js', import.meta.url))}
    const sidecar = new Sidecar(${JSON.stringify({
      command: tapped.command, config: {}, handlers: {}, deadlineMs: 60_000,
    })})
    await sidecar.ask('status', {}, new AbortController().signal)`
  const host = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: 'inherit' })
  t.after(() => host.kill('SIGKILL'))
  assert.deepEqual(await once(host, 'exit'), [0, null])
  await until(() => !tapped.pids.some(isAlive))
})

test('unloaded while the sidecar hangs, it is killed', BOUND, async (t) => {
  const tapped = new Tapped(t, root(t))
  const dsh = await Dsh.start(t)
  const row = await dsh.load({ command: tapped.command })
  await dsh.step([written(MENTION)])
  kill(tapped.pids[0], 'SIGSTOP')
  await row.dispose()
  assert.equal(isAlive(tapped.pids[0]), false)
})
