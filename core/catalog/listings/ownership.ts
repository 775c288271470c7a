import { createHmac } from 'node:crypto'
import type { Pool } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import type { PurposeKeys } from '../../secret-keys/purpose-keys.ts'
import type { ProofDeps, ProofMethod, ProofToken } from './find-proof.ts'

export interface OwnershipDeps extends ProofDeps {
  readonly pool: Pool
  /** Keys from which the tokens derive. */
  readonly proofKeys: PurposeKeys
}

/**
 * Derives the token that proves ownership of a host. It depends on principal and host only, so that
 * nothing is stored before the proof, and no token is valid for another principal.
 */
export const proofToken = (secret: Buffer, principal: string, host: string): string =>
  createHmac('sha256', secret).update(`${principal} ${host}`).digest('base64url')

/** Returns the accepted tokens of a principal for a host: the one to publish now is the first. */
export const proofTokens = (
  { valid }: PurposeKeys,
  principal: string,
  host: string,
): readonly [ProofToken, ...ProofToken[]] => {
  const [first, ...others] = valid.map(({ version, material }) => {
    return { version, token: proofToken(material, principal, host) }
  })
  return [first!, ...others]
}

/** Stores a proof. The newest one counts, because hosts change owners. */
export async function recordHostOwner(
  pool: Pool,
  host: string,
  principal: string,
  method: ProofMethod,
): Promise<void> {
  await pool.query(
    `INSERT INTO hub.listing_owner (host, principal, method) VALUES ($1, $2, $3)
     ON CONFLICT (host) DO UPDATE SET principal = $2, method = $3, proven_at = now()`,
    [host, principal, method],
  )
}

/**
 * Removes all listings of a host from the catalog, or restores them. Removed listings stay as
 * tombstones, so that no source lists them again.
 * @returns number of listings; undefined if the principal does not own the host
 */
export function setOptOut(
  pool: Pool,
  { host, principal }: { readonly host: string; readonly principal: string },
  { out, reason }: { readonly out: boolean; readonly reason: string | undefined },
): Promise<number | undefined> {
  return inTransaction(pool, async (client) => {
    const { rowCount: owned } = await client.query(
      `UPDATE hub.listing_owner SET opted_out_at = CASE WHEN $3 THEN now() END,
         opt_out_reason = CASE WHEN $3 THEN $4 END WHERE host = $1 AND principal = $2`,
      [host, principal, out, reason ?? null],
    )
    if (owned !== 1) return undefined
    const { rowCount } = await client.query(
      `UPDATE hub.listing SET state = 'unlisted',
         reason = CASE WHEN $2 THEN 'opted_out' ELSE 'unverified' END,
         removed_at = CASE WHEN $2 THEN now() END,
         next_probe_at = CASE WHEN $2 THEN NULL ELSE now() END
       WHERE id IN (SELECT id FROM hub.listing WHERE host = $1 AND ($2 OR reason = 'opted_out')
         ORDER BY id FOR NO KEY UPDATE)`,
      [host, out],
    )
    return rowCount ?? 0
  })
}
