import type { Pool } from 'pg'
import { Fault } from '../errors.ts'
import type { KeyManager } from '../identity/sub-keys.ts'
import { prefixedId } from '../ids.ts'
import { type EventType, TEST_EVENT } from './events.ts'

export interface WebhookInfo {
  readonly id: string
  readonly url: string
  readonly events: readonly EventType[]
  readonly secret_version: number
  /** Version of the hub's key from which the secret derives. */
  readonly key_version: number
  /** End of the rotation, until which the previous secret signs too. */
  readonly previous_until: Date | null
  readonly created_at: Date
  readonly failing_since: Date | null
  readonly disabled_at: Date | null
  readonly disabled_reason: 'gone' | 'failing' | null
}

export interface Delivery {
  readonly event: string
  readonly type: string
  readonly at: Date
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  readonly next_at: Date
  readonly tried_at: Date | null
  readonly status: number | null
  readonly error: string | null
  readonly duration_ms: number | null
}

/** Maximum per principal. */
const WEBHOOKS_MAX = 20
const COLUMNS = `id, url, events, secret_version, key_version, previous_until, created_at,
  failing_since, disabled_at, disabled_reason`
const IS_OWNED = 'principal = ANY ($1) AND id = $2'

/**
 * @param keyVersion version of the hub's key from which its secret derives
 * @throws Fault `key_limit_reached` if the principal has too many
 */
export async function addWebhook(
  pool: Pool,
  principal: string,
  order: { readonly url: string; readonly events: readonly EventType[] },
  keyVersion: number,
): Promise<WebhookInfo> {
  const { rows } = await pool.query<WebhookInfo>(
    `INSERT INTO hub.webhook (id, principal, url, events, key_version) SELECT $1, $2, $3, $4, $6
     WHERE (SELECT count(*) FROM hub.webhook WHERE principal = $2) < $5 RETURNING ${COLUMNS}`,
    [prefixedId('whk'), principal, order.url, order.events, WEBHOOKS_MAX, keyVersion],
  )
  if (rows[0]) return rows[0]
  const detail = `A wallet or account can have at most ${WEBHOOKS_MAX} webhooks.`
  throw new Fault('key_limit_reached', detail, {
    extras: { scope: 'webhooks' },
    advice: 'Delete one first: DELETE /v1/webhooks/{id}.',
  })
}

/** Lists the webhooks of an owner's principals, oldest first. */
export async function listWebhooks(pool: Pool, owner: KeyManager): Promise<WebhookInfo[]> {
  const { rows } = await pool.query<WebhookInfo>(
    `SELECT ${COLUMNS} FROM hub.webhook WHERE principal = ANY ($1) ORDER BY created_at, id`,
    [owner],
  )
  return rows
}

/** Changes to a webhook. A re-enabled one gets only later events. */
export interface WebhookChange {
  readonly url?: string | undefined
  readonly events?: readonly EventType[] | undefined
  readonly enabled?: true | undefined
}

/** @throws Fault `not_found` */
export async function changeWebhook(
  pool: Pool,
  owner: KeyManager,
  id: string,
  { url, events, enabled }: WebhookChange,
): Promise<WebhookInfo> {
  return queryWebhook(
    pool,
    `UPDATE hub.webhook SET url = coalesce($3, url), events = coalesce($4, events),
       disabled_at = CASE WHEN $5 THEN NULL ELSE disabled_at END,
       disabled_reason = CASE WHEN $5 THEN NULL ELSE disabled_reason END,
       failing_since = CASE WHEN $5 THEN NULL ELSE failing_since END
     WHERE ${IS_OWNED} RETURNING ${COLUMNS}`,
    [owner, id, url ?? null, events ?? null, enabled ?? false],
  )
}

/** Deletes a webhook with its deliveries. @throws Fault `not_found` */
export async function deleteWebhook(pool: Pool, owner: KeyManager, id: string): Promise<void> {
  await queryWebhook(pool, `DELETE FROM hub.webhook WHERE ${IS_OWNED} RETURNING ${COLUMNS}`, [
    owner,
    id,
  ])
}

/**
 * Rotates the secret; the previous one signs for `overlapSeconds`.
 * @param keyVersion version of the hub's key from which the new secret derives
 * @throws Fault `not_found`
 */
export async function rotateWebhook(
  pool: Pool,
  owner: KeyManager,
  id: string,
  overlapSeconds: number,
  keyVersion: number,
): Promise<WebhookInfo> {
  return queryWebhook(
    pool,
    `UPDATE hub.webhook SET secret_version = secret_version + 1,
       previous_key_version = key_version, key_version = $4,
       previous_until = now() + make_interval(secs => $3)
     WHERE ${IS_OWNED} RETURNING ${COLUMNS}`,
    [owner, id, overlapSeconds, keyVersion],
  )
}

/** Queues a test event and returns its id. @throws Fault `not_found`, also if disabled */
export async function testWebhook(pool: Pool, owner: KeyManager, id: string): Promise<string> {
  const { rows } = await pool.query<{ event: string | null }>(
    `SELECT hub.emit(principal, $3, '{"message":"It works."}', id) AS event
     FROM hub.webhook WHERE ${IS_OWNED}`,
    [owner, id, TEST_EVENT],
  )
  const event = rows[0]?.event
  if (event) return event
  throw new Fault('not_found', 'There is no such webhook, or it is disabled.')
}

/** Lists the deliveries of a webhook, newest first. @throws Fault `not_found` */
export async function listDeliveries(
  pool: Pool,
  owner: KeyManager,
  id: string,
  limit: number,
  after: string | undefined,
): Promise<Delivery[]> {
  await queryWebhook(pool, `SELECT ${COLUMNS} FROM hub.webhook WHERE ${IS_OWNED}`, [owner, id])
  const { rows } = await pool.query<Delivery>(
    `SELECT d.event, e.type, d.at, d.state, d.attempts, d.next_at, d.tried_at, d.status, d.error,
       d.duration_ms
     FROM hub.webhook_delivery d JOIN hub.webhook_event e ON e.id = d.event
     WHERE d.webhook = $1 AND ($3::text IS NULL OR (d.at, d.event) <
       (SELECT l.at, l.event FROM hub.webhook_delivery l WHERE l.webhook = $1 AND l.event = $3))
     ORDER BY d.at DESC, d.event DESC LIMIT $2`,
    [id, limit, after ?? null],
  )
  return rows
}

async function queryWebhook(
  pool: Pool,
  sql: string,
  values: readonly unknown[],
): Promise<WebhookInfo> {
  const { rows } = await pool.query<WebhookInfo>(sql, [...values])
  if (!rows[0]) throw new Fault('not_found', 'There is no such webhook.')
  return rows[0]
}
