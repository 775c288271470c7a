import type { Pool } from 'pg'
import { inTransaction } from '../../../db/transaction.ts'
import type { ListingMethod } from '../store.ts'

export interface DueListing {
  readonly id: string
  readonly url: string
  readonly method: ListingMethod
  readonly host: string
}

/** Listings of one host that are probed one after the other. */
export interface HostTurn {
  readonly host: string
  readonly listings: readonly DueListing[]
}

const HOSTS_PER_CLAIM = 200

/**
 * Claims due listings, a few of each host, for 10 minutes, so that those of a dead process become
 * due again. Hosts whose listings are due for longest come first.
 * @param busy hosts that are left out
 */
export async function claimTurns(
  pool: Pool,
  busy: ReadonlySet<string>,
  perHost: number,
): Promise<HostTurn[]> {
  const { rows } = await pool.query<DueListing>(
    `UPDATE hub.listing SET next_probe_at = now() + interval '10 minutes' WHERE id IN (
       SELECT due.id FROM (
         SELECT host FROM hub.listing WHERE next_probe_at <= now() AND host <> ALL ($1)
         GROUP BY host ORDER BY min(next_probe_at) LIMIT $2) hosts,
       LATERAL (
         SELECT id FROM hub.listing l WHERE l.host = hosts.host AND next_probe_at <= now()
         ORDER BY next_probe_at LIMIT $3 FOR NO KEY UPDATE SKIP LOCKED) due)
     RETURNING id, url, method, host`,
    [[...busy], HOSTS_PER_CLAIM, perHost],
  )
  return [...Map.groupBy(rows, ({ host }) => host)].map(([host, listings]) => ({ host, listings }))
}

/** Makes claimed listings due again; their host queues behind the others. */
export const release = (pool: Pool, listings: readonly DueListing[]): Promise<void> =>
  setDue(pool, listings, '0')

/** Makes listings due again when the robots.txt of their host is requested again. */
export const postpone = (pool: Pool, listings: readonly DueListing[]): Promise<void> =>
  setDue(pool, listings, '10 minutes')

async function setDue(pool: Pool, listings: readonly DueListing[], wait: string): Promise<void> {
  if (listings.length === 0) return
  await pool.query(
    `UPDATE hub.listing SET next_probe_at = now() + $2::interval WHERE id IN (
       SELECT id FROM hub.listing WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE)`,
    [listings.map(({ id }) => id), wait],
  )
}

/** Minimum intervals between requested probes, in seconds: of one listing, and of its host. */
const LISTING_SECONDS = 60
const HOST_SECONDS = 2

/**
 * Reserves the time for a requested probe.
 * @returns 0, or the seconds to wait because the listing or its host was just probed
 */
export function reserveProbe(pool: Pool, id: string): Promise<number> {
  return inTransaction(pool, async (client) => {
    await client.query(
      `SELECT pg_advisory_xact_lock(hashtextextended('probe ' || host, 0))
       FROM hub.listing WHERE id = $1`,
      [id],
    )
    const { rows } = await client.query<{ seconds: number }>(
      `SELECT ceil(greatest(0, extract(epoch FROM max(o.probed_at + make_interval(
         secs => (CASE WHEN o.id = l.id THEN $2 ELSE $3 END)::float8)) - clock_timestamp())
       ))::integer AS seconds FROM hub.listing l JOIN hub.listing o USING (host) WHERE l.id = $1`,
      [id, LISTING_SECONDS, HOST_SECONDS],
    )
    const seconds = rows[0]?.seconds ?? 0
    if (seconds === 0) {
      await client.query('UPDATE hub.listing SET probed_at = clock_timestamp() WHERE id = $1', [id])
    }
    return seconds
  })
}
