/**
 * One sidecar process, from its start to its end, and what is said over its standard streams.
 *
 * The wire is one JSON value a line, UTF-8, separated by 0x0A alone. Every question is settled
 * exactly once: by its answer, by the turn's cancellation, or by the end of the process. Nothing
 * is ever thrown outside of a question. What is asked and answered is of no concern here.
 */

import { spawn } from 'node:child_process'
import { CANCELLED, SessionReferenceError, UNAVAILABLE } from './errors.js'

const LINE_FEED = 0x0a
const METHOD_NOT_FOUND = -32601
const INTERNAL_ERROR = -32603

/** How much of what the process wrote to its standard error is kept to explain its end. */
const LAST_WORDS = 400

/** How long a process that was told to finish may take, in milliseconds. */
const FAREWELL = 2_000

/**
 * @typedef {Record<string, (params: any) => unknown>} Handlers what we can be asked, by method
 * @typedef {object} Question
 * @property {(result: any) => void} resolve
 * @property {(error: Error) => void} reject
 */

/** A conversation that has ended, or is about to. */
export class EndedError extends SessionReferenceError {
  /** @param {string} reason */
  constructor(reason) {
    super(`the session reference sidecar ${reason}`, UNAVAILABLE)
    this.reason = reason
  }
}

export class Conversation {
  #child
  #handlers
  /** @type {Map<number, Question>} */
  #questions = new Map()
  #asked = 0
  /** @type {Buffer[]} */
  #line = []
  #lastWords = ''
  /** @type {EndedError | undefined} */
  #end
  /** @type {() => void} */
  #gone = () => {}
  /** Settles when the process has ended. @type {Promise<void>} */
  #exit = new Promise((resolve) => { this.#gone = resolve })

  /**
   * Start a process. Whether it really starts is told by the first question.
   * @param {readonly string[]} command
   * @param {Handlers} handlers
   */
  constructor([program = '', ...args], handlers) {
    this.#handlers = handlers
    this.#child = spawn(program, args, { stdio: 'pipe', windowsHide: true })
    const { stdin, stdout, stderr } = this.#child
    this.#child.on('error', (error) => {
      this.end(`did not start: ${error.message}`)
      this.#gone()
    })
    this.#child.on('exit', () => this.#gone())
    this.#child.on('close', (code, signal) => {
      const words = this.#lastWords.trim()
      this.end(`ended (${signal ?? `exit code ${code}`})${words && `: ${words}`}`)
    })
    stdin.on('error', () => {}) // it is gone, and `close` says so
    stdout.on('data', (chunk) => this.#receive(chunk))
    stderr.setEncoding('utf8').on('data', (text) => {
      this.#lastWords = (this.#lastWords + text).slice(-LAST_WORDS)
    })
    // The host may leave while the process runs, which then notices the end of its input.
    for (const each of [this.#child, stdin, stdout, stderr]) /** @type {any} */ (each).unref()
  }

  /** Whether it is over: nothing can be asked any more. */
  get isOver() {
    return this.#end !== undefined
  }

  /**
   * Ask, and wait for the answer.
   * @param {string} method
   * @param {object} params
   * @param {AbortSignal} [signal] takes the question back
   * @returns {Promise<any>}
   */
  ask(method, params, signal) {
    if (this.#end !== undefined) return Promise.reject(this.#end)
    if (signal?.aborted) return Promise.reject(cancelled(signal))
    const id = (this.#asked += 1)
    return new Promise((resolve, reject) => {
      const takeBack = () => {
        this.#send({ method: '$/cancelRequest', params: { id } })
        this.#settle(id)?.reject(cancelled(signal))
      }
      const forget = () => signal?.removeEventListener('abort', takeBack)
      this.#questions.set(id, {
        resolve: (result) => { forget(); resolve(result) },
        reject: (error) => { forget(); reject(error) },
      })
      this.#send({ id, method, params })
      signal?.addEventListener('abort', takeBack, { once: true })
    })
  }

  /**
   * Give it up: whoever waits is told why, and the process is killed.
   * @param {string} reason goes on from "the sidecar …"
   */
  end(reason) {
    if (this.#end !== undefined) return
    const end = this.#end = new EndedError(reason)
    this.#child.kill('SIGKILL')
    this.#child.stdin.destroy() // if the program is not the process itself, this ends it
    for (const id of [...this.#questions.keys()]) this.#settle(id)?.reject(end)
  }

  /** Let it finish, and wait until it has. */
  async close() {
    this.#child.ref()
    this.#child.stdin.end()
    const impatience = setTimeout(() => this.end('did not finish'), FAREWELL)
    await this.#exit
    clearTimeout(impatience)
  }

  #send(/** @type {object} */ message) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  #settle(/** @type {number} */ id) {
    const question = this.#questions.get(id)
    this.#questions.delete(id)
    return question
  }

  #receive(/** @type {Buffer} */ chunk) {
    let start = 0
    for (let end; (end = chunk.indexOf(LINE_FEED, start)) !== -1; start = end + 1) {
      this.#line.push(chunk.subarray(start, end))
      const line = Buffer.concat(this.#line).toString('utf8')
      this.#line = []
      this.#read(line)
    }
    this.#line.push(chunk.subarray(start))
  }

  #read(/** @type {string} */ line) {
    let message
    try {
      message = JSON.parse(line)
    } catch {
      this.end('said something that is not JSON')
      return
    }
    if (message.method !== undefined) {
      if (message.id !== undefined) void this.#answer(message)
      return
    }
    const question = this.#settle(message.id)
    if (message.error === undefined) question?.resolve(message.result)
    else question?.reject(failure(message.error))
  }

  async #answer(/** @type {{id: unknown, method: string, params: any}} */ { id, method, params }) {
    const handler = Object.hasOwn(this.#handlers, method) ? this.#handlers[method] : undefined
    if (handler === undefined) {
      this.#send({ id, error: { code: METHOD_NOT_FOUND, message: 'no such method' } })
      return
    }
    try {
      this.#send({ id, result: await handler(params) })
    } catch {
      this.#send({ id, error: { code: INTERNAL_ERROR, message: 'the host failed' } })
    }
  }
}

/**
 * What a turn ends with that was cancelled.
 * @param {AbortSignal} [signal]
 */
export function cancelled(signal) {
  const cause = signal?.reason
  return new SessionReferenceError('session references were cancelled', CANCELLED, { cause })
}

/** @param {{code: number, message: string, data?: {code?: string}}} error as the sidecar put it */
function failure({ code, message, data }) {
  return new SessionReferenceError(message, data?.code ?? `JSON_RPC_${-code}`, { data })
}
