import type { Pool } from 'pg'

/** Price of an endpoint from a time on. */
export interface EndpointPrice {
  /** `METHOD /path` */
  readonly name: string
  /** Microdollars; the maximum of a computed price. */
  readonly amount: bigint
  readonly at: Date
}

const PRICES_MAX = 500

/** Reads the newest prices of the endpoints whose price has ever changed. */
export async function readPriceHistory(
  pool: Pool,
  slug: string,
): Promise<readonly EndpointPrice[]> {
  const { rows } = await pool.query<EndpointPrice>(
    `SELECT e.method || ' ' || e.path AS name, p.amount, p.since AS at
     FROM hub.endpoint e JOIN hub.price p ON p.endpoint = e.id
     WHERE e.service = $1 AND e.state = 'active'
       AND EXISTS (SELECT 1 FROM hub.price x WHERE x.endpoint = e.id AND x.version > 1)
     ORDER BY p.since DESC LIMIT ${PRICES_MAX}`,
    [slug],
  )
  return rows
}
