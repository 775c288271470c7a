import type { ClientBase, Pool, PoolClient } from 'pg'
import { withAudit } from '../audit/record.ts'
import { Fault } from '../errors.ts'
import { setKeyRate } from '../identity/key-state.ts'
import { findKey, type KeyManager } from '../identity/sub-keys.ts'
import { prefixedId } from '../ids.ts'
import { creditsOf } from '../ledger/postings.ts'
import type { Mail } from '../mail/queue.ts'
import { rateDecidedMail } from '../mail/templates.ts'
import { mailOwner } from '../providers/notify-owner.ts'
import { emit } from '../webhooks/events.ts'
import { assertNotOwn, type Staff } from './staff-acts.ts'

/** Request for a custom rate of a main key. */
export interface RateRequest {
  readonly id: string
  readonly key: string
  /** Requested requests per minute. */
  readonly per_minute: number
  readonly purpose: string
  readonly created_at: Date
  /** Granted requests per minute; null while pending, and if refused. */
  readonly granted: number | null
  readonly reason: string | null
  readonly decided_at: Date | null
}

/** Decision of an administrator. @property granted null: refused */
export interface RateDecision {
  readonly granted: number | null
  readonly reason: string
}

const COLUMNS =
  'r.id, r.key, r.per_minute, r.purpose, r.created_at, r.granted, r.reason, r.decided_at'

/**
 * Requests a custom rate for a main key. Replaces a pending request of the key.
 * @throws Fault `not_found` if `manager` does not manage the key; `validation_failed` for a sub-key
 */
export async function requestRate(
  pool: Pool,
  manager: KeyManager,
  order: Pick<RateRequest, 'key' | 'per_minute' | 'purpose'>,
): Promise<RateRequest> {
  const { parent, revoked_at: revoked, role } = await findKey(pool, manager, order.key)
  if (revoked !== null || role === 'provider') throw new Fault('not_found')
  if (parent !== null) {
    throw new Fault('validation_failed', 'A sub-key shares the rate of its main key.')
  }
  const { rows } = await pool.query<RateRequest>(
    `INSERT INTO hub.rate_request AS r (id, key, per_minute, purpose) VALUES ($1, $2, $3, $4)
     ON CONFLICT (key) WHERE decided_at IS NULL
       DO UPDATE SET per_minute = excluded.per_minute, purpose = excluded.purpose
     RETURNING ${COLUMNS}`,
    [prefixedId('rrq'), order.key, order.per_minute, order.purpose],
  )
  return rows[0]!
}

/** Page and filter of a list of requests. */
export interface RateRequestQuery {
  /** Ids of keys or principals; undefined: of all keys. */
  readonly manager?: KeyManager
  /** True for pending requests only. */
  readonly isPending: boolean
  readonly limit: number
  /** Id of the last row of the previous page. */
  readonly after: string | undefined
}

/** Lists requests, newest first. */
export async function listRateRequests(
  pool: Pool,
  { manager, isPending, limit, after }: RateRequestQuery,
): Promise<RateRequest[]> {
  const { rows } = await pool.query<RateRequest>(
    `SELECT ${COLUMNS} FROM hub.rate_request r JOIN hub.api_key k ON k.id = r.key
     WHERE ($1::text[] IS NULL OR k.id = ANY ($1) OR k.principal = ANY ($1))
       AND (r.decided_at IS NULL OR NOT $2)
       AND ($3::text IS NULL OR (r.created_at, r.id) <
         (SELECT l.created_at, l.id FROM hub.rate_request l WHERE l.id = $3))
     ORDER BY r.created_at DESC, r.id DESC LIMIT $4`,
    [manager ?? null, isPending, after ?? null, limit],
  )
  return rows
}

/**
 * Grants or refuses a pending request; effective within a second. The requester gets a notice by
 * webhook and email.
 * @throws Fault `not_found` if it is not pending; `own_account`
 */
export const decideRate = (
  pool: Pool,
  staff: Staff,
  id: string,
  { granted, reason }: RateDecision,
): Promise<RateRequest> =>
  withAudit(pool, staff, reason, async (client, note) => {
    const { key, principal, rate } = await lockPending(client, id)
    await assertNotOwn(client, staff.principal, { accounts: [creditsOf(key)] })
    if (granted !== null) await setKeyRate(client, key, granted)
    const { rows } = await client.query<RateRequest>(
      `UPDATE hub.rate_request r SET granted = $2, reason = $3, decided_at = clock_timestamp()
       WHERE r.id = $1 RETURNING ${COLUMNS}`,
      [id, granted, reason],
    )
    const before = { rate_per_minute: rate }
    const after = { rate_per_minute: granted ?? rate, request: id }
    note({ act: granted === null ? 'key.refuse' : 'key.rate', subject: key, before, after })
    await emit(client, principal, 'rate.decided', {
      request_id: id,
      key_id: key,
      granted_per_minute: granted,
      reason,
    })
    await mailOwner(client, principal, 'rate-decided', id)
    return rows[0]!
  })

interface PendingRow {
  readonly key: string
  readonly principal: string
  /** Custom rate of the key now. */
  readonly rate: number | null
}

async function lockPending(client: PoolClient, id: string): Promise<PendingRow> {
  const { rows } = await client.query<PendingRow>(
    `SELECT r.key, k.principal, k.rate_per_minute AS rate
     FROM hub.rate_request r JOIN hub.api_key k ON k.id = r.key
     WHERE r.id = $1 AND r.decided_at IS NULL FOR UPDATE OF r`,
    [id],
  )
  if (!rows[0]) throw new Fault('not_found', 'There is no such pending request.')
  return rows[0]
}

/** Composes the email about a decision. */
export async function composeRateMail(
  pool: Pool | ClientBase,
  to: string,
  id: string,
  baseUrl: string,
): Promise<Mail | undefined> {
  const { rows } = await pool.query<RateRequest>(
    `SELECT ${COLUMNS} FROM hub.rate_request r WHERE r.id = $1`,
    [id],
  )
  const [request] = rows
  return request && rateDecidedMail(to, new URL(baseUrl).host, request)
}
