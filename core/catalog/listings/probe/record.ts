import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../../db/transaction.ts'
import { json } from '../../../money.ts'
import { cleanMarkup } from '../../../text.ts'
import { emit } from '../../../webhooks/events.ts'
import { imitatesPlatform, reservedNames } from '../../review/impersonation.ts'
import { storable } from '../discovery/clean-text.ts'
import type { ResourceDescription } from '../discovery/normalize.ts'
import { SCHEMA_BYTES } from '../discovery/normalize.ts'
import type { Reason } from '../reasons.ts'
import { type ListingCandidate, offerJson } from '../store.ts'
import { type NextState, nextState, type StateBefore } from './next-state.ts'
import type { ProbeResult } from './send-probe.ts'

/** Result of a probe, or the reason why robots.txt did not allow it. */
export type ProbeOutcome = Pick<ProbeResult, 'status' | 'offers' | 'description' | 'retryAfter'> & {
  readonly outcome: 'up' | Reason
  readonly latencyMs?: number
}

/** Outcomes that show nothing about the resource. */
const NOT_PROBED: ReadonlySet<ProbeOutcome['outcome']> = new Set([
  'rate_limited',
  'robots',
  'robots_unreadable',
])
/** Period of the listing's figures. */
const FIGURES_WINDOW = "interval '30 days'"
const LATENCIES_MAX = 100

/**
 * Records a probe in one transaction: its row, the totals of its day, the figures of 30 days, the
 * new state and the time of the next probe. The terms of a valid offer replace claimed ones;
 * triggers record changes.
 * @param chance random number from 0 to 1 that spreads the probes
 * @returns the state after it; undefined if the listing is gone or its owner has opted out
 */
export function recordProbe(
  pool: Pool,
  id: string,
  probed: ProbeOutcome,
  chance: number,
): Promise<NextState | undefined> {
  return inTransaction(pool, async (client) => {
    const before = await lockListing(client, id)
    if (!before) return undefined
    const [offer] = probed.offers ?? []
    await client.query(
      `INSERT INTO hub.listing_probe (listing, outcome, status, latency_ms, price, pay_to)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [id, probed.outcome, probed.status, probed.latencyMs, offer?.price, offer?.payTo],
    )
    if (!NOT_PROBED.has(probed.outcome)) await rollUp(client, id, probed)
    const { retryAfter = 0, outcome } = probed
    const next = nextState(before, outcome, { chance, retryAfter })
    if (probed.offers) await applyOffer(client, id, probed.offers, probed.description)
    await client.query(UPDATE_LISTING, [
      id,
      next.state,
      next.reason,
      next.failures,
      next.againSeconds,
      next.removed,
      outcome === 'up',
    ])
    await notifyOwner(client, id, before)
    return next
  })
}

/** Locks a listing; undefined if its owner has opted out, even during the probe. */
async function lockListing(client: PoolClient, id: string): Promise<ListingBefore | undefined> {
  const { rows } = await client.query<ListingBefore>(
    `SELECT l.state, l.price, l.pay_to AS "payTo", l.failures,
       l.last_verified_at IS NOT NULL AS verified,
       EXISTS (SELECT FROM hub.listing_source s WHERE s.listing = l.id AND NOT s.gone
         AND (s.source <> 'submitted' OR s.seen_at > now() - interval '90 days')) AS claimed,
       (SELECT count(*)::integer FROM (SELECT outcome FROM hub.listing_probe p
          WHERE p.listing = l.id ORDER BY at DESC LIMIT 10) recent
        WHERE outcome NOT IN ('up', 'rate_limited')) AS "recentFailures",
       (SELECT count(*)::integer FROM hub.listing o
        WHERE o.host = l.host AND o.next_probe_at IS NOT NULL) AS "hostListings",
       extract(epoch FROM now() - coalesce(l.last_verified_at, l.first_seen_at))::float8 / 86400
         AS "daysDead"
     FROM hub.listing l WHERE l.id = $1 AND l.reason IS DISTINCT FROM 'opted_out'
     FOR NO KEY UPDATE`,
    [id],
  )
  return rows[0]
}

/** State before a probe, with the terms whose changes are reported to the owner. */
interface ListingBefore extends StateBefore {
  readonly price: bigint
  readonly payTo: string
}

/** Emits `listing.changed` to the proven owner of the host if state or terms have changed. */
async function notifyOwner(client: PoolClient, id: string, before: ListingBefore): Promise<void> {
  const { rows } = await client.query<{
    url: string
    state: string
    reason: string | null
    price: bigint
    payTo: string
    principal: string
  }>(
    `SELECT l.url, l.state, l.reason, l.price, l.pay_to AS "payTo", o.principal
     FROM hub.listing l JOIN hub.listing_owner o USING (host)
     WHERE l.id = $1 AND (l.state, l.price, l.pay_to) IS DISTINCT FROM ($2, $3::bigint, $4)`,
    [id, before.state, before.price, before.payTo],
  )
  const [now] = rows
  if (!now) return
  const { url, state, reason, price, payTo, principal } = now
  const data = { id, url, state, reason, price_microdollars: json(price), pay_to: payTo }
  await emit(client, principal, 'listing.changed', data)
}

async function rollUp(client: PoolClient, id: string, probed: ProbeOutcome): Promise<void> {
  const up = probed.outcome === 'up'
  await client.query(
    `INSERT INTO hub.listing_day AS d (listing, day, probes, up, latencies)
     VALUES ($1, (now() AT TIME ZONE 'UTC')::date, 1, $2, $3)
     ON CONFLICT (listing, day) DO UPDATE SET probes = d.probes + 1, up = d.up + excluded.up,
       latencies = CASE WHEN cardinality(d.latencies) < ${LATENCIES_MAX}
         THEN d.latencies || excluded.latencies ELSE d.latencies END`,
    [id, up ? 1 : 0, up && probed.latencyMs !== undefined ? [probed.latencyMs] : []],
  )
}

/** Applies the terms of a valid offer, and its schemas and texts if it has any. */
async function applyOffer(
  client: PoolClient,
  id: string,
  offers: ListingCandidate['offers'],
  resource: ResourceDescription = {},
): Promise<void> {
  const texts = [cleanMarkup(resource.name, 100), cleanMarkup(resource.description, 1_000)] as const
  const isReserved = texts[0] !== '' && (await reservedNames(client, [texts[0]])).size > 0
  const [name, description] = imitatesPlatform(...texts) ? ['', ''] : texts
  const [{ scheme, network, asset, payTo, price, payable }] = offers
  await client.query(
    `UPDATE hub.listing SET scheme = $2, network = $3, asset = $4, pay_to = $5, price = $6,
       payable = $7, offers = $8, name = coalesce($9, name),
       description = coalesce($10, description),
       input_schema = coalesce($11, input_schema), output_schema = coalesce($12, output_schema)
     WHERE id = $1`,
    [
      id,
      scheme,
      network,
      asset,
      payTo,
      price,
      payable,
      JSON.stringify(offers.map(offerJson)),
      (!isReserved && name) || null,
      description || null,
      schemaJson(resource.inputSchema),
      schemaJson(resource.outputSchema),
    ],
  )
}

const schemaJson = (schema: unknown): string | null => {
  const value = storable(schema, SCHEMA_BYTES)
  return value === null ? null : JSON.stringify(value)
}

const UPDATE_LISTING = `
  UPDATE hub.listing l SET state = $2, reason = $3, failures = $4, probed_at = now(),
    next_probe_at = now() + make_interval(secs => $5),
    removed_at = CASE WHEN $6 THEN now() END,
    last_verified_at = CASE WHEN $7 THEN now() ELSE last_verified_at END,
    listed_at = CASE WHEN $7 THEN coalesce(listed_at, now()) ELSE listed_at END,
    (uptime, latency_p50_ms, latency_p95_ms) = (
      SELECT 100.0 * sum(up) / nullif(sum(probes), 0),
        (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY ms) FROM hub.listing_day d,
          unnest(latencies) ms WHERE d.listing = l.id AND d.day > now() - ${FIGURES_WINDOW}),
        (SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY ms) FROM hub.listing_day d,
          unnest(latencies) ms WHERE d.listing = l.id AND d.day > now() - ${FIGURES_WINDOW})
      FROM hub.listing_day d WHERE d.listing = l.id AND d.day > now() - ${FIGURES_WINDOW}),
    (calls, delivered, payers, trust, success, rejected, paid_ms) =
      (SELECT f.* FROM hub.figures_of(l) f)
  WHERE id = $1`
