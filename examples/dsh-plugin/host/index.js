/**
 * The host half of the plugin: what DSH's plugin system loads.
 *
 * It only puts the parts together, and everything it registers belongs to the context that it is
 * given, so that unloading the plugin leaves nothing behind. Loading never fails on account of the
 * sidecar or of other plugins.
 */

import { Config } from './config.js'
import { referenceListener } from './references.js'
import { Rivals } from './rivals.js'
import { liveSessions } from './sessions.js'
import { Sidecar } from './sidecar.js'

export { Config }

// Only types: what these packages add to a context and its events.
/** @typedef {import('@deepseek-ai/dsh-agent').Agent} Agent */
/** @typedef {import('@deepseek-ai/dsh-session').SessionStore} SessionStore */

/** How the plugin is called in the host's log. */
export const name = 'sessionref'

/** The host's services without which the plugin waits. */
export const inject = ['sessions']

/**
 * @param {import('@deepseek-ai/cordis').Context} ctx the plugin's context
 * @param {import('./config.js').Settings} settings
 */
export function apply(ctx, settings) {
  if (!settings.enabled) return
  const { policy, command, deadlineMs, maxReferences, maxReferenceBytes } = settings
  const sidecar = new Sidecar({
    command,
    deadlineMs,
    config: { maxReferences, maxReferenceBytes },
    handlers: liveSessions(ctx.sessions),
  })
  const rivals = new Rivals(ctx)
  const log = ctx.logger(name)
  ctx.effect(() => () => rivals.leave(), 'sessionref: among its copies')
  ctx.effect(() => () => sidecar.close(), 'sessionref: the sidecar')
  ctx.on('agent/pre-step', referenceListener({ policy, sidecar, rivals, log }), { prepend: true })
}
