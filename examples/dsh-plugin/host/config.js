/**
 * What can be set for this plugin, and how the host checks it.
 *
 * `Config` is a Standard Schema (version 1), which is what DSH's plugin system asks of a plugin's
 * `Config`; being one by hand spares the plugin a dependency. A bad value fails this plugin's row
 * with the reason, as for every other row of a profile.
 */

/** @typedef {'native' | 'never-block'} Policy */

/**
 * @typedef {object} Settings
 * @property {boolean} enabled
 * @property {Policy} policy what becomes of a message whose references fail
 * @property {number} maxReferences distinct sessions that one message may refer to
 * @property {number | undefined} maxReferenceBytes UTF-8 bytes of one session's snapshot
 * @property {readonly string[]} command the sidecar and its arguments
 * @property {number} deadlineMs how long a step waits for its references
 */

/** @typedef {{message: string, path: string[]}} Issue */
/** @typedef {[isGood: (value: any) => boolean, wanted: string]} Check */

/** @type {Settings} */
const DEFAULTS = {
  enabled: true,
  policy: 'native',
  maxReferences: 3,
  maxReferenceBytes: undefined,
  command: ['sessionref'],
  deadlineMs: 10_000,
}

/** @type {Record<keyof Settings, Check>} */
const CHECKS = {
  enabled: [(value) => typeof value === 'boolean', 'true or false'],
  policy: [(value) => value === 'native' || value === 'never-block', 'native or never-block'],
  maxReferences: [(value) => isCount(value) && value <= 3, '1, 2 or 3'],
  maxReferenceBytes: [isCount, 'a whole number above 0'],
  command: [isCommand, 'a program, or a list of a program and its arguments'],
  deadlineMs: [(value) => isCount(value) && value <= 600_000, 'a whole number from 1 to 600000'],
}

/** Checks the plugin's settings and completes them to `Settings`. */
export const Config = {
  '~standard': {
    version: /** @type {const} */ (1),
    vendor: 'sessionref',
    validate,
  },
}

/**
 * @param {unknown} value as written in the profile; null and absent members are unset
 * @returns {{value: Settings} | {issues: Issue[]}}
 */
function validate(value) {
  if (!isRecord(value ?? {})) return { issues: [{ message: 'must be a mapping', path: [] }] }
  const given = Object.entries(value ?? {}).filter(([, member]) => member != null)
  const issues = given.flatMap(([name, member]) => {
    const check = CHECKS[/** @type {keyof Settings} */ (name)]
    if (check === undefined || check[0](member)) return []
    return [{ message: `must be ${check[1]}`, path: [name] }]
  })
  if (issues.length > 0) return { issues }
  const settings = { ...DEFAULTS, ...Object.fromEntries(given) }
  return { value: { ...settings, command: [settings.command].flat() } }
}

function isRecord(/** @type {unknown} */ value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isCount(/** @type {unknown} */ value) {
  return Number.isSafeInteger(value) && /** @type {number} */ (value) > 0
}

function isCommand(/** @type {unknown} */ value) {
  const parts = [value].flat()
  return parts.length > 0 && parts.every((part) => typeof part === 'string') && parts[0] !== ''
}
