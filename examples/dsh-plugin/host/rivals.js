/**
 * Who else makes snapshots of referenced sessions in this host: DSH's own resolver, this very
 * plugin a second time, or another plugin. Context that two of them add is there twice.
 *
 * Plugins are loaded in any order and at the same time, so nobody can be sure on loading that it is
 * alone. That is why this is asked at every step, and why nothing is registered here that a second
 * registration could fail on: a plugin that fails on loading takes the host's whole tree with it.
 */

/** The name under which DSH's own resolver is known. */
const RESOLVER = 'sessionReferenceResolver'

/** Where all copies of this plugin in one host find each other. */
const COPIES = Symbol.for('sessionref.dsh-plugin.copies')

/** @typedef {import('@deepseek-ai/dsh-llm').UserMessage} Message */

export class Rivals {
  #context
  /** @type {Set<Rivals>} in the order in which they came */
  #copies

  /** @param {import('@deepseek-ai/cordis').Context} context */
  constructor(context) {
    this.#context = context
    const root = /** @type {{[COPIES]?: Set<Rivals>}} */ (context.root)
    this.#copies = root[COPIES] ??= new Set()
    this.#copies.add(this)
  }

  /** The next copy may take over. */
  leave() {
    this.#copies.delete(this)
  }

  /**
   * Who is before us, in words; undefined if nobody is.
   * @param {readonly Message[]} proposed the messages of the step before any listener saw them
   * @param {readonly Message[]} accepted what the listeners behind us made of them
   */
  inFront(proposed, accepted) {
    // Not strict: a resolver that is just being loaded has its listener already.
    if (this.#context.get(RESOLVER, false) !== undefined) return "DSH's own resolver"
    const [first] = this.#copies
    if (first !== this) return 'another copy of this plugin'
    const known = new Set(proposed.map(({ id }) => id))
    if (accepted.some((message) => isRecall(message) && !known.has(message.id))) {
      return 'another plugin'
    }
    return undefined
  }
}

function isRecall(/** @type {Message} */ { source }) {
  return /** @type {string} */ (source.kind) === 'session-reference'
}
