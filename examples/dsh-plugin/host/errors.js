/**
 * The one kind of error that a turn can end with because of this plugin.
 *
 * Name and `code` are those of DSH's own resolver, so whatever tells its failures apart tells ours
 * apart, too. This module knows neither the host nor the wire.
 */

/** The sidecar could not be started, ended, or was silent. No code of the wire. */
export const UNAVAILABLE = 'SESSION_REFERENCE_UNAVAILABLE'
export const CANCELLED = 'SESSION_REFERENCE_CANCELLED'

/** A failure that the policy decides about; a cancelled turn ends with it under any policy. */
export class SessionReferenceError extends Error {
  /**
   * @param {string} message for people
   * @param {string} code what to tell failures apart by
   * @param {ErrorOptions & {data?: unknown}} [options] `data` is what the sidecar said about it
   */
  constructor(message, code, options = {}) {
    super(message, options)
    this.name = 'SessionReferenceError'
    this.code = code
    this.data = options.data
  }
}
