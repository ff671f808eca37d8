// How often, and how soon, a sidecar that crashed is started anew.

export interface RestartPolicy {
  /** How many restarts in a row; then it is given up. 0: none. */
  limit: number;
  /** Before the first of them; before each further one it is twice as long. */
  firstDelayMs: number;
  maxDelayMs: number;
  /** A process that lived this long has recovered: the next crash counts as the first. */
  steadyAfterMs: number;
}

export const DEFAULT_POLICY: Readonly<RestartPolicy> = {
  limit: 5,
  firstDelayMs: 200,
  maxDelayMs: 10_000,
  steadyAfterMs: 60_000,
};

/** The delay before a restart, the first of which is number 0. */
export function delayBefore(restart: number, { firstDelayMs, maxDelayMs }: RestartPolicy): number {
  return Math.min(firstDelayMs * 2 ** restart, maxDelayMs);
}
