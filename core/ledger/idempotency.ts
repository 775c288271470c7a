import type { ClientBase, Pool } from 'pg'
import type { Account } from './events.ts'
import { type AccountRef, type EntryHeader } from './ledger.ts'
import { BEGIN_FOR_MS, withRetry } from './retry.ts'

const REPLAYED = 2
const OTHER_INPUTS = 5

/**
 * Assigns an id to an idempotency key of a caller: a new one the first time, the same one from then
 * on. Ledger operations with that id take effect once, across retries and
 * crashes.
 * @param inputs canonical text of the whole request; its hash is stored permanently
 * @param id the id to assign, UUID version 7
 * @returns undefined if the key was used for a different request
 */
export async function claimKey(
  pool: Pool | ClientBase,
  owner: AccountRef,
  key: string,
  inputs: string,
  id: EntryHeader['id'],
): Promise<{ readonly id: string; readonly replayed: boolean } | undefined> {
  const text = 'SELECT * FROM ledger.claim_key($1, $2, $3, $4)'
  const values = [owner.id, key, inputs, id]
  const { rows } = await withRetry(
    () => pool.query<{ id: string; outcome: number }>(text, values),
    BEGIN_FOR_MS,
  )
  const [{ id: known, outcome }] = rows as [{ id: string; outcome: number }]
  return outcome === OTHER_INPUTS ? undefined : { id: known, replayed: outcome === REPLAYED }
}

/** Returns true if the journal contains this single-step entry. */
export async function isPosted(pool: Pool, owner: Account, id: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `SELECT FROM ledger.journal j JOIN ledger.account a ON a.id = j.owner
     WHERE a.code = $1 AND j.id = $2 AND j.phase = 0`,
    [owner, id],
  )
  return rowCount === 1
}
