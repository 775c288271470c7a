import type { PoolClient } from 'pg'
import { dayName } from '../clock.ts'
import { Fault } from '../errors.ts'
import { IS_MANAGED, type KeyManager } from '../identity/sub-keys.ts'
import { uuidv7 } from '../ids.ts'
import type { AccountRef } from '../ledger/ledger.ts'
import { type AllowanceSpan, type LimitDeps, postChange, storeExcess } from './allowance-excess.ts'
import { grantAllowance } from './allowances.ts'

/** New limits of a sub-key, in microdollars. null: no limit; undefined: unchanged. */
export interface LimitChange {
  readonly maxCall?: bigint | null | undefined
  readonly maxDay?: bigint | null | undefined
  readonly maxTotal?: bigint | null | undefined
  readonly services?: readonly string[] | null | undefined
  readonly expiresAt?: Date | null | undefined
  readonly seesMainKey?: boolean | undefined
}

export type AllowanceDeps = Pick<LimitDeps, 'ledger' | 'clock'>

interface LimitRow {
  readonly max_day: bigint | null
  readonly max_total: bigint | null
  readonly shard: number
}

/**
 * Changes limits of a sub-key in a transaction of the caller; effective on every process within a
 * second. What the key has spent counts against its changed limits; a limit that it did not have
 * counts from now on. Calls in flight end under the limits with which they began; what they release
 * above a lowered limit is withdrawn before the next call.
 * @throws Fault `not_found`; `validation_failed` for a main key, or a key that would change its own
 *   limits
 */
export async function changeKeyLimits(
  client: PoolClient,
  deps: AllowanceDeps,
  manager: KeyManager,
  keyId: string,
  change: LimitChange,
): Promise<void> {
  if (manager.includes(keyId)) {
    throw new Fault('validation_failed', 'A key cannot change its own limits. Use its main key.')
  }
  const before = await lockLimits(client, manager, keyId)
  const { maxDay, maxTotal } = change
  await adjustAllowance(deps, client, { keyId, span: 'total' }, before, maxTotal)
  for (const span of daysAt(deps.clock.now())) {
    await adjustAllowance(deps, client, { keyId, span }, before, maxDay)
  }
  await client.query(
    `UPDATE hub.api_key SET max_call = CASE WHEN $2 THEN $3 ELSE max_call END,
       max_day = CASE WHEN $4 THEN $5 ELSE max_day END,
       max_total = CASE WHEN $6 THEN $7 ELSE max_total END,
       services = CASE WHEN $8 THEN $9 ELSE services END,
       expires_at = CASE WHEN $10 THEN $11 ELSE expires_at END,
       sees_main_key = coalesce($12, sees_main_key) WHERE id = $1`,
    [
      keyId,
      ...[change.maxCall, maxDay, maxTotal, change.services, change.expiresAt].flatMap((value) => [
        value !== undefined,
        value ?? null,
      ]),
      change.seesMainKey ?? null,
    ],
  )
}

/** Time before midnight from which the next day is changed too. */
const NEXT_DAY_MS = 60_000

/** Days whose allowance a process may grant by the limit before the change, which it has cached. */
const daysAt = (now: Date): ReadonlySet<string> =>
  new Set([dayName(now), dayName(new Date(now.getTime() + NEXT_DAY_MS))])

async function lockLimits(
  client: PoolClient,
  manager: KeyManager,
  keyId: string,
): Promise<LimitRow> {
  const { rows } = await client.query<LimitRow & { readonly parent: string | null }>(
    `SELECT k.parent, k.max_day, k.max_total, p.shard
     FROM hub.api_key k JOIN hub.principal p ON p.id = k.principal
     WHERE k.id = (SELECT id FROM hub.api_key WHERE ${IS_MANAGED} AND revoked_at IS NULL)
     FOR UPDATE OF k`,
    [manager, keyId],
  )
  const [row] = rows
  if (!row) throw new Fault('not_found', 'There is no such key among the keys you manage.')
  if (row.parent !== null) return row
  throw new Fault('validation_failed', 'A main key has no limits. Set those of its sub-keys.')
}

/** Attempts: calls may use the allowance meanwhile. */
const TRIES_MAX = 10

/**
 * Brings an allowance to a changed limit, less units that calls hold above it, which are stored as
 * excess. Repeating it changes nothing, so that a change whose commit failed can be repeated.
 */
async function adjustAllowance(
  { ledger, clock }: AllowanceDeps,
  client: PoolClient,
  { keyId, span }: AllowanceSpan,
  { shard, ...before }: LimitRow,
  limit: bigint | null | undefined,
): Promise<void> {
  if (limit == null) return
  const account = await grantAllowance(ledger, { keyId, span }, limit, shard)
  const wasLimited = (span === 'total' ? before.max_total : before.max_day) !== null
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const { granted, left } = await readAllowance(client, account)
    const missing = limit - (wasLimited ? granted : left)
    const excess = -missing > left ? -missing - left : 0n
    const units = missing + excess
    if (
      units !== 0n &&
      (await postChange(ledger, account, units, uuidv7(clock.now().getTime()))) !== 'applied'
    )
      continue
    await storeExcess(client, { keyId, span }, excess)
    return
  }
  throw new Fault('service_unavailable', `Calls of ${keyId} keep its limits busy. Try again.`)
}

/** Units granted to an allowance, less those withdrawn, and what is left of them. */
async function readAllowance(client: PoolClient, { id, shard }: AccountRef) {
  const { rows } = await client.query<{ granted: bigint; left: bigint }>(
    `SELECT (SELECT coalesce(sum(l.amount), 0)::bigint FROM ledger.journal j
         CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l
         WHERE j.shard = $2 AND j.owner = $1 AND l.account = $1) AS granted,
       (SELECT coalesce(sum(b.balance), 0)::bigint FROM ledger.balance b
         WHERE b.account = $1 AND b.shard = $2) AS left`,
    [id, shard],
  )
  return rows[0]!
}
