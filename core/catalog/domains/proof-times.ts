import type { Domain } from './store.ts'

/** A proof is rechecked after a day; a missing one every hour. */
export const RECHECK_HOURS = 24
export const RETRY_HOURS = 1
/** Age of a missing proof at which its owner is notified. */
export const NOTICE_HOURS = 36
/** A proof expires at this age, but not before its owner had time to act on the notice. */
export const EXPIRY_HOURS = 72
export const ACT_HOURS = 36
const HOUR_MS = 3_600_000

/**
 * Returns when a verified domain loses its proof, if the last check did not find it: the next one
 * is then due later than a day after the proof.
 */
export function proofExpiry({
  state,
  provenAt,
  nextCheckAt,
  noticedAt,
}: Pick<Domain, 'state' | 'provenAt' | 'nextCheckAt' | 'noticedAt'>): Date | undefined {
  if (state !== 'verified' || !provenAt || !nextCheckAt) return undefined
  const hours = (nextCheckAt.getTime() - provenAt.getTime()) / HOUR_MS
  if (hours < RECHECK_HOURS + RETRY_HOURS / 2) return undefined
  const afterProof = provenAt.getTime() + EXPIRY_HOURS * HOUR_MS
  const afterNotice = (noticedAt?.getTime() ?? 0) + ACT_HOURS * HOUR_MS
  return new Date(Math.max(afterProof, afterNotice))
}
