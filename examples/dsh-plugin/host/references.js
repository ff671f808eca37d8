/**
 * The listener: what becomes of the messages of a step that refer to other sessions.
 *
 * Whatever is behind it in the chain decides first. A rejected step, and one that mentions nothing,
 * goes back as it is, without anybody being asked. Everything else is the sidecar's to decide; where
 * it can't be had, the policy decides, as it does about a message that fails. A cancelled turn ends.
 */

/** What every mention contains. */
const SCHEME = 'dsh-session:'

/**
 * @typedef {import('@deepseek-ai/cordis').Events['agent/pre-step']} Listener
 * @typedef {(format: string, ...values: unknown[]) => void} Say
 * @typedef {{info: Say, error: Say}} Log no `warn`: DSH leaves warnings out of its log by default
 * @typedef {{status: string, messageId?: string, error?: {message: string}}} Outcome of a message
 */

/**
 * @param {object} options
 * @param {import('./config.js').Policy} options.policy
 * @param {import('./sidecar.js').Sidecar} options.sidecar
 * @param {import('./rivals.js').Rivals} options.rivals
 * @param {Log} options.log
 * @returns {Listener}
 */
export function referenceListener({ policy, sidecar, rivals, log }) {
  let hasStepBackBeenSaid = false

  function sayStepBack(/** @type {string} */ rival) {
    if (hasStepBackBeenSaid) return
    hasStepBackBeenSaid = true
    log.info('session references are made by %s already: this plugin leaves them alone', rival)
  }

  return async function referToSessions({ agent, messages, signal }, next) {
    const decision = await next()
    if (decision.kind === 'reject' || !decision.messages.some(mayMention)) return decision
    const rival = rivals.inFront(messages, decision.messages)
    if (rival !== undefined) {
      sayStepBack(rival)
      return decision
    }
    const params = {
      agent: { id: agent.id, cwd: agent.session.header.cwd },
      decision: { kind: 'enter', messages: decision.messages },
      policy,
    }
    try {
      const answer = await sidecar.ask('preStep', params, signal)
      sayFailures(log, answer.outcomes)
      return { ...decision, messages: answer.decision.messages }
    } catch (error) {
      if (signal.aborted || policy === 'native') throw error
      log.error('a step goes on without its session references: %s', messageOf(error))
      return decision
    }
  }
}

function mayMention(/** @type {import('@deepseek-ai/dsh-llm').UserMessage} */ { source, content }) {
  return (
    source.kind === 'user' &&
    content.some((block) => block.type === 'text' && block.text.includes(SCHEME))
  )
}

function sayFailures(/** @type {Log} */ log, /** @type {readonly Outcome[]} */ outcomes) {
  for (const { status, messageId, error } of outcomes) {
    if (status !== 'failed') continue
    log.error('message %s goes on without its session references: %s', messageId, error?.message)
  }
}

function messageOf(/** @type {unknown} */ error) {
  return error instanceof Error ? error.message : String(error)
}
