import type { Pool } from 'pg'
import type { EventData } from './events.ts'

/** Delivery whose next attempt is due, with what it sends and to whom. */
export interface DueDelivery {
  readonly webhook: string
  readonly event: string
  readonly url: string
  readonly version: number
  readonly keyVersion: number
  /** Key version of the previous secret, if that signs too. */
  readonly previousKeyVersion: number | null
  readonly type: string
  readonly data: EventData
  readonly at: Date
}

/** Maximum concurrent attempts of a process. */
const ATTEMPTS_MAX = 64
/** Maximum for one webhook, so that a slow receiver does not block the others of its owner. */
const PER_WEBHOOK_MAX = 4
/** Maximum for all webhooks of one principal. */
const PER_PRINCIPAL_MAX = 8
/** Maximum for all receivers that are not known to respond quickly. */
const UNPROVEN_MAX = 32
/** Maximum duration of an attempt, after which another process may retry. */
const LEASE_SECONDS = 60
/** Largest value of the column `attempts`. */
const COUNT_MAX = 32_767

/**
 * $1, $2: webhooks with attempts in flight, and how many; $3 to $6: the limits. `load` is what a
 * principal would have in flight; those with the least come first. Reads few rows of each webhook.
 */
const LEASE_DUE = `
  WITH RECURSIVE waiting AS (
    (SELECT webhook FROM hub.webhook_delivery WHERE state = 'pending' ORDER BY webhook LIMIT 1)
    UNION ALL
    SELECT (SELECT d.webhook FROM hub.webhook_delivery d
      WHERE d.state = 'pending' AND d.webhook > w.webhook ORDER BY d.webhook LIMIT 1)
    FROM waiting w WHERE w.webhook IS NOT NULL
  ), busy AS MATERIALIZED (
    SELECT b.webhook, h.principal, h.is_quick, b.attempts
    FROM unnest($1::text[], $2::integer[]) b(webhook, attempts)
    JOIN hub.webhook h ON h.id = b.webhook
  ), candidate AS (
    SELECT d.webhook, d.event, d.next_at, h.is_quick,
      row_number() OVER (PARTITION BY h.principal ORDER BY d.next_at, d.event)
        + (SELECT coalesce(sum(b.attempts), 0) FROM busy b WHERE b.principal = h.principal) AS load
    FROM waiting w JOIN hub.webhook h ON h.id = w.webhook AND h.disabled_at IS NULL
    CROSS JOIN LATERAL (SELECT p.webhook, p.event, p.next_at FROM hub.webhook_delivery p
      WHERE p.webhook = h.id AND p.state = 'pending' AND p.next_at <= now() ORDER BY p.next_at
      LIMIT greatest(0, $4 - (SELECT coalesce(sum(b.attempts), 0) FROM busy b
        WHERE b.webhook = h.id))) d
  ), ranked AS (
    SELECT c.*, row_number() OVER (PARTITION BY c.is_quick ORDER BY c.load, c.next_at)
      + (SELECT coalesce(sum(b.attempts), 0) FROM busy b WHERE NOT b.is_quick) AS unproven
    FROM candidate c WHERE c.load <= $5
  ), due AS (
    SELECT d.webhook, d.event FROM hub.webhook_delivery d
    JOIN ranked r ON r.webhook = d.webhook AND r.event = d.event
    WHERE d.state = 'pending' AND d.next_at <= now() AND (r.is_quick OR r.unproven <= $6)
    ORDER BY r.load, r.next_at LIMIT $3 FOR UPDATE OF d SKIP LOCKED
  )
  UPDATE hub.webhook_delivery d
  SET attempts = least(d.attempts + 1, ${COUNT_MAX}),
    next_at = now() + make_interval(secs => ${LEASE_SECONDS})
  FROM due, hub.webhook w, hub.webhook_event e
  WHERE d.webhook = due.webhook AND d.event = due.event
    AND w.id = d.webhook AND e.id = d.event
  RETURNING d.webhook, d.event, w.url, w.secret_version AS version,
    w.key_version AS "keyVersion", e.type, e.data, e.at,
    CASE WHEN w.previous_until > now() THEN w.previous_key_version END AS "previousKeyVersion"`

/** Looks for a due attempt: planning LEASE_DUE takes 1.7 ms, four times a second. */
async function hasDue(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query(
    `SELECT FROM hub.webhook_delivery WHERE state = 'pending' AND next_at <= now() LIMIT 1`,
  )
  return rows.length > 0
}

/**
 * Leases due attempts, and counts them before they start. Principals take turns, so that nobody's
 * events wait for the slow receivers of somebody else.
 * @param busy webhook of each attempt in flight
 */
export async function leaseDue(
  pool: Pool,
  busy: readonly string[],
): Promise<readonly DueDelivery[]> {
  if (!(await hasDue(pool))) return []
  const attempts = [...Map.groupBy(busy, (webhook) => webhook)]
  const { rows } = await pool.query<DueDelivery>(LEASE_DUE, [
    attempts.map(([webhook]) => webhook),
    attempts.map(([, each]) => each.length),
    ATTEMPTS_MAX - busy.length,
    PER_WEBHOOK_MAX,
    PER_PRINCIPAL_MAX,
    UNPROVEN_MAX,
  ])
  return rows
}
