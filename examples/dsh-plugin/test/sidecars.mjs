// Sidecars to test with: the real one, the real one behind a tap, and some that fail. And roots.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

import { session, store, title, user } from '../../../tests/clients/logs.mjs'

const PROGRAM =
  process.env.SESSIONREF ?? fileURLToPath(new URL('../../../.venv/bin/sessionref', import.meta.url))
for (const name of Object.keys(process.env)) { // what could change a sidecar's answers
  if (/^(SESSIONREF_|DSH_|PYTHON)/.test(name)) delete process.env[name]
}

const TAP = fileURLToPath(new URL('tap.mjs', import.meta.url))
const PATIENCE = 30_000

export const MENTION = '@[Fix login](dsh-session:ImxvZ2luIg)'
export const NOWHERE = '@[Gone](dsh-session:Im5vd2hlcmUi)'
export const LOGIN = {
  sessionId: 'login',
  label: 'Fix login',
  cwd: '/work/shop',
  capturedThroughSeq: 1,
  conversation: [{ role: 'user', text: 'the login is broken' }],
}

/** A folder that is removed with the test. */
export function folder(t) {
  const path = mkdtempSync(join(tmpdir(), 'sessionref-dsh-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A root with the session that `MENTION` means. */
export function root(t) {
  const path = folder(t)
  store(path, session('login', [user('the login is broken'), title('Fix login')]))
  return path
}

/** The command of the real sidecar. */
export function real(path) {
  return [PROGRAM, '--root', path, '--no-index']
}

/** The real sidecar behind a tap: what the host says is on record; some of it may get lost. */
export class Tapped {
  constructor(t, path, lost = '') {
    this.path = join(folder(t), 'record')
    this.command = [process.execPath, TAP, this.path, lost, ...real(path)]
    t.after(() => this.pids.forEach((pid) => kill(pid, 'SIGKILL')))
  }

  get #lines() {
    if (!existsSync(this.path)) return []
    return readFileSync(this.path, 'utf8').split('\n').slice(0, -1).map((line) => JSON.parse(line))
  }

  /** The process ids, of tap and sidecar in turn, in the order in which they were started. */
  get pids() {
    return this.#lines.filter(({ pid }) => pid).map(({ pid }) => pid)
  }

  /** What the host said, without its answers. */
  get asked() {
    return this.#lines.filter(({ method }) => method)
  }

  /** Wait until a method was asked so many times; the last of them. */
  async question(method, times = 1) {
    const all = () => this.asked.filter((line) => line.method === method)
    await until(() => all().length >= times)
    return all()[times - 1]
  }
}

/** A program that begins well and then does `then` with what it is asked. */
export function scripted(then, protocolVersion = 1) {
  const script = `
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line)
      const say = (more) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...more }))
      if (method === 'initialize') say({ result: { protocolVersion: ${protocolVersion} } })
      else if (id !== undefined) { ${then} }
    })`
  return [process.execPath, '-e', script]
}

/** Wait until something is so. */
export async function until(isSo) {
  const start = performance.now()
  while (!isSo()) {
    if (performance.now() - start > PATIENCE) throw new Error(`never: ${isSo}`)
    await pause(10)
  }
}

export function kill(pid, signal) {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

/** Whether a process runs; one that has ended, and that nobody asked for its code, does not. */
export function isAlive(pid) {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
