import type { Pool } from 'pg'
import type { KeyCredits } from '../identity/main-keys.ts'
import { claimKey } from '../ledger/idempotency.ts'
import { creditsOf } from '../ledger/postings.ts'
import { BEGIN_FOR_MS, withRetry } from '../ledger/retry.ts'

const OTHER_INPUTS = 5

/**
 * Assigns an id to the name that a key gave its request, permanently, like `claimKey`. A main key
 * and each of its sub-keys have separate names: no key can read or use up those of another.
 * @param name prefix for the kind of request, and the name given
 * @returns undefined if the key used the name for other inputs
 */
export async function claimRequestName(
  pool: Pool,
  { keyId, credits }: KeyCredits,
  name: string,
  inputs: string,
  id: string,
): Promise<string | undefined> {
  if (credits.code === creditsOf(keyId)) {
    return (await claimKey(pool, credits, name, inputs, id))?.id
  }
  const text = 'SELECT * FROM hub.claim_sub_key_name($1, $2, $3, $4, $5)'
  const values = [credits.id, keyId, name, inputs, id]
  const { rows } = await withRetry(
    () => pool.query<{ id: string; outcome: number }>(text, values),
    BEGIN_FOR_MS,
  )
  const [{ id: known, outcome }] = rows as [{ id: string; outcome: number }]
  return outcome === OTHER_INPUTS ? undefined : known
}

/** Returns the id that `claimRequestName` assigned; undefined if the name was not claimed. */
export async function findRequestName(
  pool: Pool,
  { keyId, credits }: KeyCredits,
  name: string,
): Promise<string | undefined> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT id FROM ledger.idempotency
     WHERE owner = $1 AND key = sha256(convert_to($2, 'UTF8'))`,
    [credits.id, credits.code === creditsOf(keyId) ? name : `${keyId} ${name}`],
  )
  return rows[0]?.id
}
