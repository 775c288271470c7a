import type { Pool } from 'pg'

/** Earnings of a domain's pages, grouped by page, caller or UTC day. */
export interface PageEarnings {
  /** URL, caller's pseudonym, or day. */
  readonly of: string
  /** Number of pages sold. */
  readonly calls: bigint
  /** Those of them that came from the cache. */
  readonly cached: bigint
  /** Charged to callers, in microdollars. */
  readonly charged: bigint
  /** The owner's share of it, in microdollars. */
  readonly earned: bigint
}

export interface EarningsQuery {
  readonly domain: string
  readonly by: 'page' | 'caller' | 'day'
  readonly from: Date
  /** Excluded. */
  readonly until: Date
  readonly limit: number
  /** `earned` and `of` of the previous page's last row. */
  readonly after: readonly [bigint, string] | undefined
  /** Key for the callers' pseudonyms, so that they cannot be linked to other domains. */
  readonly secret: Buffer
}

/**
 * Lists earnings, largest first, net of the commission of each call's price version. The commission
 * of a batch is split among its pages so that they add up to it.
 */
export async function listPageEarnings(pool: Pool, query: EarningsQuery): Promise<PageEarnings[]> {
  const { domain, by, from, until, after, limit, secret } = query
  // Named, because planning it takes ten times as long as reading a few pages.
  const { rows } = await pool.query<PageEarnings>({
    name: 'page-earnings.list',
    text: `SELECT * FROM (
       SELECT CASE $8 WHEN 'page' THEN r.url
           WHEN 'day' THEN to_char(c.at AT TIME ZONE 'UTC', 'YYYY-MM-DD')
           ELSE left(encode(sha256($7::bytea || convert_to(c.principal, 'UTF8')), 'hex'), 16)
         END AS of, count(*) AS calls, count(*) FILTER (WHERE r.cached) AS cached,
         sum(r.charged)::bigint AS charged,
         sum(r.charged - (r.before + r.charged) * v.commission_bps / 10000
           + r.before * v.commission_bps / 10000)::bigint AS earned
       FROM hub.page_call p JOIN hub.call c ON c.id = p.call
         JOIN hub.price v ON v.endpoint = c.endpoint AND v.version = c.price_version
         CROSS JOIN LATERAL (
           SELECT p.url, p.cached, c.charged, 0::bigint AS before WHERE p.pages IS NULL
           UNION ALL
           SELECT * FROM jsonb_to_recordset(p.pages)
             AS b (url text, cached boolean, charged bigint, before bigint)) r
       WHERE p.domain = $1 AND p.at >= $2 AND p.at < $3 AND c.outcome = 'delivered'
       GROUP BY 1) e
     WHERE $4::bigint IS NULL OR (earned, of) < ($4, $5::text)
     ORDER BY earned DESC, of DESC LIMIT $6`,
    values: [domain, from, until, after?.[0] ?? null, after?.[1] ?? null, limit, secret, by],
  })
  return rows
}
