/**
 * The sidecar as the rest of the plugin sees it: somebody to ask, whatever becomes of the process.
 *
 * A process is started when there is something to ask and none runs. One that dies while it is
 * asked is replaced, and the question is put once more; one that dies on starting is not, and one
 * that says nothing is killed. Requests change nothing, so asking twice is safe, and turns come at
 * the pace of people, so starting needs no backoff.
 */

import { Conversation, EndedError, cancelled } from './conversation.js'
import { SessionReferenceError, UNAVAILABLE } from './errors.js'

const PROTOCOL_VERSION = 1

/** How much longer than the deadline an answer may take to come, in milliseconds. */
const GRACE = 3_000

export class Sidecar {
  #command
  #handlers
  #deadlineMs
  #introduction
  /** @type {{conversation: Conversation, ready: Promise<void>} | undefined} */
  #current
  #isClosed = false

  /**
   * @param {object} options
   * @param {readonly string[]} options.command the program and its arguments
   * @param {object} options.config the ceilings of every request
   * @param {import('./conversation.js').Handlers} options.handlers what it may ask us
   * @param {number} options.deadlineMs how long a question may take
   */
  constructor({ command, config, handlers, deadlineMs }) {
    this.#command = command
    this.#handlers = handlers
    this.#deadlineMs = deadlineMs
    this.#introduction = {
      protocolVersion: PROTOCOL_VERSION,
      clientInfo: { name: 'dsh' },
      capabilities: { liveSessions: true },
      config,
    }
  }

  /**
   * Put one question. Rejects with a `SessionReferenceError`.
   * @param {string} method
   * @param {object} params without a deadline
   * @param {AbortSignal} signal takes the question back
   * @returns {Promise<any>}
   */
  async ask(method, params, signal) {
    const until = performance.now() + this.#deadlineMs
    try {
      return await this.#askOnce(method, params, signal, until)
    } catch (error) {
      if (!(error instanceof LostError) || performance.now() >= until) throw error
      return await this.#askOnce(method, params, signal, until)
    }
  }

  /** Let the process finish; nothing can be asked any more. */
  async close() {
    this.#isClosed = true
    await this.#current?.conversation.close()
  }

  /**
   * @param {string} method
   * @param {object} params
   * @param {AbortSignal} signal
   * @param {number} until on the clock of `performance`
   */
  async #askOnce(method, params, signal, until) {
    if (signal.aborted) throw cancelled(signal)
    const { conversation, ready } = this.#converse()
    const silence = setTimeout(
      () => conversation.end('does not answer'),
      until - performance.now() + GRACE,
    )
    try {
      await unlessAborted(ready, signal)
      const deadlineMs = Math.max(1, Math.round(until - performance.now()))
      return await conversation.ask(method, { ...params, deadlineMs }, signal).catch(asLost)
    } finally {
      clearTimeout(silence)
    }
  }

  #converse() {
    if (this.#isClosed) throw new EndedError('was closed with its plugin')
    if (this.#current === undefined || this.#current.conversation.isOver) {
      const conversation = start(this.#command, this.#handlers)
      const ready = introduce(conversation, this.#introduction)
      ready.catch(() => {}) // whoever asks will see it
      this.#current = { conversation, ready }
    }
    return this.#current
  }
}

/** The process ended although it had been at work. */
class LostError extends EndedError {}

/** @returns {never} */
function asLost(/** @type {Error} */ error) {
  if (error instanceof EndedError) throw new LostError(error.reason)
  throw error
}

/**
 * @param {readonly string[]} command
 * @param {import('./conversation.js').Handlers} handlers
 */
function start(command, handlers) {
  try {
    return new Conversation(command, handlers)
  } catch (error) {
    throw new EndedError(`did not start: ${/** @type {Error} */ (error).message}`)
  }
}

/**
 * @param {Conversation} conversation
 * @param {object} introduction
 */
async function introduce(conversation, introduction) {
  try {
    const { protocolVersion } = await conversation.ask('initialize', introduction)
    if (protocolVersion === PROTOCOL_VERSION) return
    throw new SessionReferenceError(
      `the session reference sidecar speaks version ${protocolVersion} of the protocol`,
      UNAVAILABLE,
    )
  } catch (error) {
    conversation.end('would not begin')
    throw error
  }
}

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {AbortSignal} signal
 * @returns {Promise<T>}
 */
async function unlessAborted(promise, signal) {
  /** @type {() => void} */
  let stop = () => {}
  const aborted = new Promise((_, reject) => {
    stop = () => reject(cancelled(signal))
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([promise, /** @type {Promise<never>} */ (aborted)])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
