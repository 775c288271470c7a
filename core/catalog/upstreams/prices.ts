import type { Pool, PoolClient } from 'pg'
import type { Micros } from '../../money.ts'

/** Endpoint of a service. */
export interface Route {
  readonly method: string
  readonly path: string
}

/** Price of an endpoint with its effective time. */
export interface PriceVersion extends Route {
  readonly amount: Micros
  readonly setAt: Date
  readonly effectiveAt: Date
  /** Set if it was replaced before it took effect. */
  readonly withdrawnAt: Date | null
  /** True if it is in effect now. */
  readonly current: boolean
}

/** SQL for the price in effect; `e` is the endpoint. */
export const CURRENT_PRICE = `SELECT p.amount, p.id, p.effective_at FROM hub.upstream_price p
  WHERE p.service = e.service AND p.method = e.method AND p.path = e.path
    AND p.withdrawn_at IS NULL AND p.effective_at <= now()
  ORDER BY p.effective_at DESC, p.id DESC LIMIT 1`

/**
 * Sets the price of an endpoint. A lower price takes effect at once, a higher one after the notice
 * period; before the first activation every price takes effect at once. An upcoming price is
 * withdrawn. Setting the same price again changes nothing.
 */
export async function setPrice(
  client: PoolClient,
  slug: string,
  { method, path, amount }: Route & { readonly amount: Micros },
  noticeDays: number,
): Promise<void> {
  const { rows } = await client.query<{ now: bigint | null; coming: bigint | null; sold: boolean }>(
    `SELECT u.activated_at IS NOT NULL AS sold, (SELECT amount FROM (${CURRENT_PRICE}) c) AS now,
       (SELECT p.amount FROM hub.upstream_price p WHERE p.service = e.service
          AND p.method = e.method AND p.path = e.path AND p.withdrawn_at IS NULL
          AND p.effective_at > now() ORDER BY p.id DESC LIMIT 1) AS coming
     FROM hub.upstream u JOIN hub.upstream_endpoint e ON e.service = u.slug
     WHERE u.slug = $1 AND e.method = $2 AND e.path = $3`,
    [slug, method, path],
  )
  const { now = null, coming = null, sold = false } = rows[0] ?? {}
  if ((coming ?? now) === amount) return
  await client.query(
    `UPDATE hub.upstream_price SET withdrawn_at = now() WHERE service = $1 AND method = $2
       AND path = $3 AND withdrawn_at IS NULL AND effective_at > now()`,
    [slug, method, path],
  )
  if (now === amount) return
  const notice = sold && now !== null && amount > now ? noticeDays : 0
  await client.query(
    `INSERT INTO hub.upstream_price (service, method, path, amount, effective_at)
     VALUES ($1, $2, $3, $4, now() + make_interval(days => $5))`,
    [slug, method, path, amount, notice],
  )
}

/** Lists one page of a service's prices, newest first, before the id `before`. */
export async function listPrices(
  pool: Pool,
  slug: string,
  { limit, before }: { readonly limit: number; readonly before: bigint | undefined },
): Promise<(PriceVersion & { readonly id: bigint })[]> {
  const { rows } = await pool.query<PriceVersion & { readonly id: bigint }>(
    `SELECT p.id, p.method, p.path, p.amount, p.set_at AS "setAt", p.effective_at AS "effectiveAt",
       p.withdrawn_at AS "withdrawnAt", coalesce(p.id = c.id, false) AS current
     FROM hub.upstream_price p
       JOIN hub.upstream_endpoint e USING (service, method, path)
       LEFT JOIN LATERAL (${CURRENT_PRICE}) c ON true
     WHERE p.service = $1 AND ($2::bigint IS NULL OR p.id < $2)
     ORDER BY p.id DESC LIMIT $3`,
    [slug, before ?? null, limit],
  )
  return rows
}

/** Returns the current and upcoming price of each endpoint, listed or not. */
export async function currentPrices(
  pool: Pool,
  slug: string,
): Promise<(Route & { readonly amount: Micros | null; readonly coming: UpcomingPrice | null })[]> {
  const { rows } = await pool.query<
    Route & { amount: Micros | null; next: Micros | null; at: Date | null }
  >(
    `SELECT e.method, e.path, c.amount, n.amount AS next, n.effective_at AS at
     FROM hub.upstream_endpoint e
       LEFT JOIN LATERAL (${CURRENT_PRICE}) c ON true
       LEFT JOIN LATERAL (SELECT amount, effective_at FROM hub.upstream_price f
         WHERE f.service = e.service AND f.method = e.method AND f.path = e.path
           AND f.withdrawn_at IS NULL AND f.effective_at > now()
         ORDER BY f.id DESC LIMIT 1) n ON true
     WHERE e.service = $1`,
    [slug],
  )
  return rows.map(({ method, path, amount, next, at }) => ({
    method,
    path,
    amount,
    coming: next === null || at === null ? null : { amount: next, at },
  }))
}

/** Announced price. */
export interface UpcomingPrice {
  readonly amount: Micros
  readonly at: Date
}
