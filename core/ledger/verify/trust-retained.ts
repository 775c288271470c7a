import type { Pool } from 'pg'
import type { RetainedCheckpoints } from '../retained-checkpoints.ts'
import { readLedgerId, type TrustAnchors } from './checkpoints.ts'

/** Adds the retained checkpoints and keys of the ledger to those that were given. */
export async function trustRetained(
  pool: Pool,
  retained: RetainedCheckpoints,
  { checkpoints = '', keys }: TrustAnchors = {},
): Promise<TrustAnchors> {
  const ledger = await readLedgerId(pool)
  const known = keys ?? (await retained.keys(ledger))
  const newest = (await retained.newest(ledger)).map(({ note }) => note)
  const heads = (await retained.readHeads(ledger)) ?? ''
  return {
    checkpoints: [checkpoints, ...newest, heads].join('\n'),
    ...(known.length > 0 ? { keys: known } : {}),
  }
}
