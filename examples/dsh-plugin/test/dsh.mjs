// DSH as far as its loop and this plugin meet, made of its own packages: its plugin system, its
// session service, and its way to ask the listeners about a step. Only the loop itself is missing.

import { Context } from '@deepseek-ai/cordis'
import { agentEvents } from '@deepseek-ai/dsh-agent'
import { SessionStore } from '@deepseek-ai/dsh-session'

import * as plugin from '../host/index.js'

export const AGENT_ID = 'session-agent'
export const CWD = '/work/shop'

/** A host with one agent; it is unloaded when the test is over. */
export class Dsh {
  /** What was logged: `{type, name, text}`. */
  log = []

  constructor(t) {
    this.ctx = new Context()
    t.after(() => this.ctx.fiber.dispose())
    this.ctx.logger.exporter({
      export: ({ type, name, args: [format, ...values] }) => {
        const text = String(format?.message ?? format).replace(/%s/g, () => values.shift())
        this.log.push({ type, name, text })
      },
    })
  }

  static async start(t) {
    const dsh = new Dsh(t)
    await dsh.ctx.plugin(SessionStore)
    dsh.sessions = dsh.ctx.get('sessions')
    const session = dsh.sessions.create(AGENT_ID, { meta: { cwd: CWD } })
    dsh.agent = { id: AGENT_ID, session, ctx: dsh.ctx }
    return dsh
  }

  /** Load the plugin as a row of the profile does; a busy machine may take its time. */
  async load(config) {
    const isMapping = config?.constructor === Object
    return await this.ctx.plugin(plugin, isMapping ? { deadlineMs: 60_000, ...config } : config)
  }

  /** What the plugin said. */
  get said() {
    return this.log.filter(({ name }) => name === 'sessionref').map(({ text }) => text)
  }

  /** What the listeners make of a step with these messages, as the loop asks them. */
  step(messages, signal = new AbortController().signal) {
    return agentEvents(this.ctx, this.agent).waterfall(
      'agent/pre-step',
      { messages, turn: 1, step: 1, signal },
      async () => ({ kind: 'enter', messages }),
    )
  }
}

let count = 0

/** What a person wrote. */
export function written(text, more = {}) {
  const content = [{ type: 'text', text }]
  return { id: `message-${(count += 1)}`, role: 'user', source: { kind: 'user' }, content, ...more }
}

/** The texts of a decision, context as the snapshots in it. */
export function told(decision) {
  return decision.messages.map(({ source, content }) => {
    const text = content.map((block) => block.text).join('\n')
    if (source.kind !== 'session-reference') return text
    const [, json] = /<referenced-sessions>\n(.*)\n<\/referenced-sessions>/s.exec(text)
    return JSON.parse(json)
  })
}
