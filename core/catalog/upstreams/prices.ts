import { isDeepStrictEqual } from 'node:util'
import type { Pool, PoolClient } from 'pg'
import type { Micros } from '../../money.ts'
import type { UpstreamMeter } from '../../plugin/upstreams.ts'

/** Endpoint of a service. */
export interface Route {
  readonly method: string
  readonly path: string
}

/** Price of a call, or of units up to a maximum. */
export interface PriceTerms {
  /** Price of a call; the maximum if it is metered. */
  readonly amount: Micros
  readonly metered: UpstreamMeter | null
}

/** Price of an endpoint with its effective time. */
export interface PriceVersion extends Route, PriceTerms {
  readonly setAt: Date
  readonly effectiveAt: Date
  /** Set if it was replaced before it took effect. */
  readonly withdrawnAt: Date | null
  /** True if it is in effect now. */
  readonly current: boolean
}

/** SQL for the price in effect; `e` is the endpoint. */
export const CURRENT_PRICE = `SELECT p.amount, p.metered, p.id, p.effective_at
  FROM hub.upstream_price p
  WHERE p.service = e.service AND p.method = e.method AND p.path = e.path
    AND p.withdrawn_at IS NULL AND p.effective_at <= now()
  ORDER BY p.effective_at DESC, p.id DESC LIMIT 1`

/**
 * Sets the price of an endpoint. What cannot cost callers more takes effect at once, an increase
 * after the notice period; before the first activation every price takes effect at once. An
 * upcoming price is withdrawn. Setting the same price again changes nothing.
 */
export async function setPrice(
  client: PoolClient,
  slug: string,
  { method, path, amount, metered = null }: Route & PriceChange,
  noticeDays: number,
): Promise<void> {
  const { now, coming, sold } = await readTerms(client, slug, { method, path })
  const last = coming ?? now
  const terms = { amount: amount ?? last?.amount, metered }
  if (!isPriced(terms)) return
  const isKept = amount === undefined && isDeepStrictEqual(now?.metered, metered)
  if (isKept || isDeepStrictEqual(last, terms)) return
  await client.query(
    `UPDATE hub.upstream_price SET withdrawn_at = now() WHERE service = $1 AND method = $2
       AND path = $3 AND withdrawn_at IS NULL AND effective_at > now()`,
    [slug, method, path],
  )
  if (isDeepStrictEqual(now, terms)) return
  const notice = sold && now && isIncrease(now, terms) ? noticeDays : 0
  await client.query(
    `INSERT INTO hub.upstream_price (service, method, path, amount, effective_at, metered)
     VALUES ($1, $2, $3, $4, now() + make_interval(days => $5), $6)`,
    [slug, method, path, terms.amount, notice, metered],
  )
}

/** Change of a price. Without an amount, the one of before stays. */
interface PriceChange {
  readonly amount: Micros | undefined
  readonly metered?: UpstreamMeter | null
}

const isPriced = (terms: Required<PriceChange>): terms is PriceTerms => terms.amount !== undefined

/** Reads the current and the upcoming price of an endpoint, and if it has ever been on sale. */
async function readTerms(client: PoolClient, slug: string, { method, path }: Route) {
  interface Row {
    readonly sold: boolean
    readonly now: PriceTerms | null
    readonly coming: PriceTerms | null
  }
  const { rows } = await client.query<Row>(
    `SELECT u.activated_at IS NOT NULL AS sold, (SELECT ${TERMS} FROM (${CURRENT_PRICE}) c) AS now,
       (SELECT ${TERMS} FROM hub.upstream_price c WHERE c.service = e.service
          AND c.method = e.method AND c.path = e.path AND c.withdrawn_at IS NULL
          AND c.effective_at > now() ORDER BY c.id DESC LIMIT 1) AS coming
     FROM hub.upstream u JOIN hub.upstream_endpoint e ON e.service = u.slug
     WHERE u.slug = $1 AND e.method = $2 AND e.path = $3`,
    [slug, method, path],
  )
  const { now = null, coming = null, sold = false } = rows[0] ?? {}
  return { now: now && parseTerms(now), coming: coming && parseTerms(coming), sold }
}

/** SQL for the terms of a price `c`, as JSON. */
const TERMS = `jsonb_build_object('amount', c.amount::text, 'metered', c.metered)`

const parseTerms = ({ amount, metered }: PriceTerms): PriceTerms => {
  return { amount: BigInt(amount) as Micros, metered }
}

/** Returns true if a call may cost more than before. */
function isIncrease(before: PriceTerms, after: PriceTerms): boolean {
  if (after.amount > before.amount) return true
  if (!before.metered) return false // the maximum is not above the former price
  return after.metered ? raisesUsage(before.metered, after.metered) : after.amount > 0n
}

const raisesUsage = (before: UpstreamMeter, after: UpstreamMeter): boolean =>
  after.unit !== before.unit ||
  after.header !== before.header ||
  after.pointer !== before.pointer ||
  BigInt(after.amount) * BigInt(before.per) > BigInt(before.amount) * BigInt(after.per) ||
  (after.ifAbsent === 'maximum' && before.ifAbsent !== 'maximum')

/** Lists one page of a service's prices, newest first, before the id `before`. */
export async function listPrices(
  pool: Pool,
  slug: string,
  { limit, before }: { readonly limit: number; readonly before: bigint | undefined },
): Promise<(PriceVersion & { readonly id: bigint })[]> {
  const { rows } = await pool.query<PriceVersion & { readonly id: bigint }>(
    `SELECT p.id, p.method, p.path, p.amount, p.metered, p.set_at AS "setAt",
       p.effective_at AS "effectiveAt", p.withdrawn_at AS "withdrawnAt",
       coalesce(p.id = c.id, false) AS current
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
  pool: Pick<PoolClient, 'query'>,
  slug: string,
): Promise<readonly CurrentPrice[]> {
  interface Row extends Route {
    readonly amount: Micros | null
    readonly metered: UpstreamMeter | null
    readonly next: Micros | null
    readonly nextMetered: UpstreamMeter | null
    readonly at: Date | null
  }
  const { rows } = await pool.query<Row>(
    `SELECT e.method, e.path, c.amount, c.metered, n.amount AS next, n.metered AS "nextMetered",
       n.effective_at AS at
     FROM hub.upstream_endpoint e
       LEFT JOIN LATERAL (${CURRENT_PRICE}) c ON true
       LEFT JOIN LATERAL (SELECT amount, metered, effective_at FROM hub.upstream_price f
         WHERE f.service = e.service AND f.method = e.method AND f.path = e.path
           AND f.withdrawn_at IS NULL AND f.effective_at > now()
         ORDER BY f.id DESC LIMIT 1) n ON true
     WHERE e.service = $1`,
    [slug],
  )
  return rows.map(({ method, path, amount, metered, next, nextMetered, at }) => ({
    method,
    path,
    amount,
    metered,
    coming: next === null || at === null ? null : { amount: next, metered: nextMetered, at },
  }))
}

/** Current and announced price of an endpoint; `amount` is null without a current one. */
export interface CurrentPrice extends Route {
  readonly amount: Micros | null
  readonly metered: UpstreamMeter | null
  readonly coming: UpcomingPrice | null
}

/** Announced price. */
export interface UpcomingPrice extends PriceTerms {
  readonly at: Date
}
