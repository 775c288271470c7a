import type { Pool } from 'pg'
import type { JsonObject } from '../json.ts'

/** Changes that owners make to their own account, by themselves or through a key. */
export const OWNER_ACTS = [
  'key.create',
  'key.change',
  'key.rotate',
  'key.freeze',
  'key.thaw',
  'key.revoke',
  'payout.set',
  'payout.authorize',
  'payout.cancel',
  'wallet.link',
  'wallet.unlink',
  'webhook.create',
  'webhook.change',
  'webhook.rotate',
  'webhook.delete',
] as const
export type OwnerAct = (typeof OWNER_ACTS)[number]

/** Acts of staff about keys and providers that their owners see. */
const STAFF_ACTS = [
  'key.freeze',
  'key.thaw',
  'key.rate',
  'payout.recover',
  'provider.assign',
  'provider.suspend',
  'provider.resume',
] as const

/** Change of an account by its owner. */
export interface OwnerChange {
  readonly id: string
  /** Account of the author: that of the session, or the wallet or account of the key. */
  readonly principal: string
  /** Email address or wallet of a session, or the id of a key. */
  readonly author: string
  /** Id of the session or key. */
  readonly via: string
  /** IPv4 /24 or IPv6 /64. */
  readonly network: string
  readonly act: OwnerAct
  /** Object of the change: the id of a key or webhook, a provider, a wallet. */
  readonly subject: string
  readonly details: JsonObject
}

/** Lines of one act and object in 24 hours, so that nobody fills the disk by renaming a key. */
const DAILY_MAX = 200

/**
 * Adds a line to the activity of an account.
 * @returns false if it has too many of this act on this object in the last 24 hours
 */
export async function recordChange(pool: Pool, change: OwnerChange): Promise<boolean> {
  const { id, principal, author, via, network, act, subject, details } = change
  const { rowCount } = await pool.query(
    `INSERT INTO hub.activity (id, principal, author, via, network, act, subject, details)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8 WHERE $9 > (SELECT count(*) FROM hub.activity
       WHERE principal = $2 AND act = $6 AND subject = $7 AND at > now() - interval '1 day')`,
    [id, principal, author, via, network, act, subject, JSON.stringify(details), DAILY_MAX],
  )
  return rowCount === 1
}

/** Line of the activity of an account. */
export interface ActivityLine {
  readonly id: string
  readonly at: Date
  /** Null if staff of the platform made the change. */
  readonly author: string | null
  readonly via: string | null
  readonly network: string | null
  readonly act: OwnerAct | (typeof STAFF_ACTS)[number]
  readonly subject: string
  readonly details: JsonObject
}

/** Time and id of a line. */
export type ActivityPosition = readonly [at: string, id: string]

/** Lists changes made by an account, and by staff to its keys and providers, newest first. */
export async function listActivity(
  pool: Pool,
  principals: readonly string[],
  limit: number,
  after: ActivityPosition | undefined,
): Promise<readonly ActivityLine[]> {
  const [at = null, id = null] = after ?? []
  const { rows } = await pool.query<ActivityLine>(
    `SELECT * FROM (
       (SELECT id::text COLLATE "C" AS id, at, author, via, network, act, subject, details
        FROM hub.activity WHERE principal = ANY ($1)
          AND ($2::timestamptz IS NULL OR (at, id::text COLLATE "C") < ($2, $3))
        ORDER BY at DESC, id DESC LIMIT $4)
       UNION ALL
       (SELECT * FROM (SELECT lpad(seq::text, 20, '0') COLLATE "C" AS id,
            date_trunc('milliseconds', at) AS at, NULL, NULL, NULL, act, subject, '{}'::jsonb
          FROM hub.audit WHERE act = ANY ($5) AND subject IN (
            SELECT k.id FROM hub.api_key k WHERE k.principal = ANY ($1)
            UNION ALL SELECT p.id FROM hub.provider p WHERE p.owner = ANY ($1))) l
        WHERE $2::timestamptz IS NULL OR (l.at, l.id) < ($2, $3)
        ORDER BY l.at DESC, l.id DESC LIMIT $4)) e
     ORDER BY at DESC, id DESC LIMIT $4`,
    [principals, at, id, limit, STAFF_ACTS],
  )
  return rows
}
