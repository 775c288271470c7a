import type { Pool, PoolClient } from 'pg'
import { type Clock, dayName } from '../clock.ts'
import { inTransaction } from '../db/transaction.ts'
import { EXCESS_MAY_RETURN } from '../identity/keys.ts'
import { derivedUuid } from '../ids.ts'
import type { AccountRef, Ledger } from '../ledger/ledger.ts'
import { allowanceOf } from '../ledger/postings.ts'

export interface LimitDeps {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly clock: Clock
}

/** Allowance of a key for a UTC day (`2026-11-21`), or in `total`. */
export interface AllowanceSpan {
  readonly keyId: string
  readonly span: string
}

/** Stores the units above a lowered limit that calls in flight hold; none: deletes the excess. */
export async function storeExcess(
  client: PoolClient,
  { keyId, span }: AllowanceSpan,
  units: bigint,
): Promise<void> {
  await client.query(
    `DELETE FROM hub.allowance_excess
     WHERE key_id = $1 AND (span = $2 OR NOT ${EXCESS_MAY_RETURN})`,
    [keyId, span],
  )
  if (units === 0n) return
  await client.query('INSERT INTO hub.allowance_excess (key_id, span, units) VALUES ($1, $2, $3)', [
    keyId,
    span,
    units,
  ])
}

/**
 * Withdraws units above the lowered limits of a key that calls have released since. What they
 * release between this and a reserve may still be spent.
 */
export async function withdrawExcess(
  { pool, ledger, clock }: LimitDeps,
  keyId: string,
  home: number,
): Promise<void> {
  const { rows } = await pool.query<{ span: string }>(
    `SELECT span FROM hub.allowance_excess
     WHERE key_id = $1 AND span IN ('total', $2) AND ${EXCESS_MAY_RETURN}`,
    [keyId, dayName(clock.now())],
  )
  for (const { span } of rows) {
    const account = await ledger.open(allowanceOf(keyId, span), 'ALLOWANCE', { home })
    if ((await readLeft(pool, account)) === 0n) continue
    await inTransaction(pool, (client) => withdraw(ledger, client, account, { keyId, span }))
  }
}

/** Repeats the same entry if its commit in the hub failed after the ledger had posted it. */
async function withdraw(
  ledger: Ledger,
  client: PoolClient,
  account: AccountRef,
  { keyId, span }: AllowanceSpan,
): Promise<void> {
  await client.query('SELECT FROM hub.api_key WHERE id = $1 FOR NO KEY UPDATE', [keyId])
  const { rows } = await client.query<{ units: bigint; since: Date }>(
    'SELECT units, since FROM hub.allowance_excess WHERE key_id = $1 AND span = $2',
    [keyId, span],
  )
  const [excess] = rows
  const left = await readLeft(client, account)
  if (!excess || left === 0n) return
  const units = left < excess.units ? left : excess.units
  const id = derivedUuid(excess.since, `${account.code} excess ${excess.units} less ${units}`)
  const outcome = await postChange(ledger, account, -units, id)
  if (outcome !== 'applied' && outcome !== 'replayed') return
  await client.query(
    `WITH done AS (DELETE FROM hub.allowance_excess
       WHERE key_id = $1 AND span = $2 AND units = $3)
     UPDATE hub.allowance_excess SET units = units - $3
     WHERE key_id = $1 AND span = $2 AND units > $3`,
    [keyId, span, units],
  )
}

/** Reads the units left of an allowance. */
async function readLeft(client: Pool | PoolClient, { id, shard }: AccountRef): Promise<bigint> {
  const { rows } = await client.query<{ left: bigint }>(
    `SELECT coalesce(sum(b.balance), 0)::bigint AS left FROM ledger.balance b
     WHERE b.account = $1 AND b.shard = $2`,
    [id, shard],
  )
  return rows[0]!.left
}

/** Grants units of an allowance, or withdraws negative ones. */
export function postChange(ledger: Ledger, account: AccountRef, units: bigint, id: string) {
  const { code } = account
  const terms = { account: code, asset: 'ALLOWANCE' } as const
  return ledger.post(
    units > 0n
      ? { type: 'units.granted', ...terms, units }
      : { type: 'units.withdrawn', ...terms, units: -units },
    { owner: account, id },
  )
}
