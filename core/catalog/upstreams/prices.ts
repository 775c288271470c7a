import type { Pool, PoolClient } from 'pg'
import type { Micros } from '../../money.ts'

/** Which endpoint of a service. */
export interface Route {
  readonly method: string
  readonly path: string
}

/** A price of an endpoint, from when it counts. */
export interface PriceVersion extends Route {
  readonly amount: Micros
  readonly setAt: Date
  readonly effectiveAt: Date
  /** Another one was set before it counted. */
  readonly withdrawnAt: Date | null
  /** Whether it is what the endpoint costs now. */
  readonly current: boolean
}

/** The price that counts now; `e` is the endpoint. */
export const CURRENT = `SELECT p.amount, p.id, p.effective_at FROM hub.upstream_price p
  WHERE p.service = e.service AND p.method = e.method AND p.path = e.path
    AND p.withdrawn_at IS NULL AND p.effective_at <= now()
  ORDER BY p.effective_at DESC, p.id DESC LIMIT 1`

/**
 * Sets the price of an endpoint. A lower one counts at once, a higher one after the days of notice;
 * until the service was sold for the first time, any counts at once. What was to come and did not
 * count yet is withdrawn. The same price again changes nothing.
 */
export async function setPrice(
  client: PoolClient,
  slug: string,
  { method, path, amount }: Route & { readonly amount: Micros },
  noticeDays: number,
): Promise<void> {
  const { rows } = await client.query<{ now: bigint | null; coming: bigint | null; sold: boolean }>(
    `SELECT u.activated_at IS NOT NULL AS sold, (SELECT amount FROM (${CURRENT}) c) AS now,
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

/** All prices of a service, the newest first; of one page after `before`. */
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
       LEFT JOIN LATERAL (${CURRENT}) c ON true
     WHERE p.service = $1 AND ($2::bigint IS NULL OR p.id < $2)
     ORDER BY p.id DESC LIMIT $3`,
    [slug, before ?? null, limit],
  )
  return rows
}

/** What each listed endpoint of a service costs, and what it will cost. */
export async function pricesNow(
  pool: Pool,
  slug: string,
): Promise<(Route & { readonly amount: Micros | null; readonly coming: Coming | null })[]> {
  const { rows } = await pool.query<
    Route & { amount: Micros | null; next: Micros | null; at: Date | null }
  >(
    `SELECT e.method, e.path, c.amount, n.amount AS next, n.effective_at AS at
     FROM hub.upstream_endpoint e
       LEFT JOIN LATERAL (${CURRENT}) c ON true
       LEFT JOIN LATERAL (SELECT amount, effective_at FROM hub.upstream_price f
         WHERE f.service = e.service AND f.method = e.method AND f.path = e.path
           AND f.withdrawn_at IS NULL AND f.effective_at > now()
         ORDER BY f.id DESC LIMIT 1) n ON true
     WHERE e.service = $1 AND e.listed`,
    [slug],
  )
  return rows.map(({ method, path, amount, next, at }) => ({
    method,
    path,
    amount,
    coming: next === null || at === null ? null : { amount: next, at },
  }))
}

/** A price that was announced. */
export interface Coming {
  readonly amount: Micros
  readonly at: Date
}
