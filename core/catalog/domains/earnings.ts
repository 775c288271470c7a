import type { Pool } from 'pg'

/** What pages of a domain came to, by page, by caller or by UTC day. */
export interface Earning {
  /** An address, a caller's pseudonym, or a day. */
  readonly of: string
  readonly calls: bigint
  /** How many of them were answered with a page that was kept. */
  readonly cached: bigint
  /** What callers paid, in microdollars. */
  readonly charged: bigint
  /** What of it is the owner's. */
  readonly earned: bigint
}

export type EarningsBy = 'page' | 'caller' | 'day'

export interface EarningsOrder {
  readonly domain: string
  readonly by: EarningsBy
  readonly from: Date
  /** Excluded. */
  readonly until: Date
  readonly limit: number
  /** `earned` and `of` of the last row of the page before. */
  readonly after: readonly [bigint, string] | undefined
  /** Callers are told apart by it, and not known by it elsewhere. */
  readonly secret: Buffer
}

/**
 * Earnings, the largest first. The commission is that of the price version of each call, rounded
 * down as the journal does: the sum of all is what the journal gave the owner.
 */
export async function earningsBy(pool: Pool, order: EarningsOrder): Promise<Earning[]> {
  const { domain, by, from, until, after, limit, secret } = order
  const { rows } = await pool.query<Earning>(
    `SELECT * FROM (
       SELECT CASE $8 WHEN 'page' THEN p.url
           WHEN 'day' THEN to_char(c.at AT TIME ZONE 'UTC', 'YYYY-MM-DD')
           ELSE left(encode(sha256($7::bytea || convert_to(c.principal, 'UTF8')), 'hex'), 16)
         END AS of, count(*) AS calls, count(*) FILTER (WHERE p.cached) AS cached,
         sum(c.charged)::bigint AS charged,
         sum(c.charged - c.charged * v.commission_bps / 10000)::bigint AS earned
       FROM hub.page_call p JOIN hub.call c ON c.id = p.call
         JOIN hub.price v ON v.endpoint = c.endpoint AND v.version = c.price_version
       WHERE p.domain = $1 AND p.at >= $2 AND p.at < $3 AND c.outcome = 'delivered'
       GROUP BY 1) e
     WHERE $4::bigint IS NULL OR (earned, of) < ($4, $5::text)
     ORDER BY earned DESC, of DESC LIMIT $6`,
    [domain, from, until, after?.[0] ?? null, after?.[1] ?? null, limit, secret, by],
  )
  return rows
}
