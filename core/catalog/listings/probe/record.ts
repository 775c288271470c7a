import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../../db/transaction.ts'
import { json } from '../../../money.ts'
import { emit } from '../../../webhooks/emit.ts'
import type { Described } from '../discovery/normalise.ts'
import { SCHEMA_BYTES } from '../discovery/normalise.ts'
import { cleanText, storable } from '../discovery/text.ts'
import type { Reason } from '../reasons.ts'
import { type Candidate, offerRow } from '../store.ts'
import type { Probed } from './ask.ts'
import { type Next, nextState, type Standing } from './state.ts'

/** What a probe makes of a listing; what robots.txt refuses was not made. */
export type Outcome = Pick<Probed, 'status' | 'offers' | 'described' | 'retryAfter'> & {
  readonly outcome: 'up' | Reason
  readonly latencyMs?: number
}

/** Say nothing about the resource. */
const NOT_MADE: ReadonlySet<Outcome['outcome']> = new Set([
  'rate_limited',
  'robots',
  'robots_unreadable',
])
/** Every that many days of figures count. */
const WINDOW = "interval '30 days'"
const LATENCIES_MAX = 100

/**
 * Notes a probe: its own row, the roll-up of its day, the figures of 30 days, the state that
 * follows from it and when to come again, all in one transaction. Terms that a valid offer names
 * replace what was claimed; triggers note what has changed.
 * @param chance from 0 to 1, spreads the probes
 * @returns the state after it; undefined when the listing is none of the hub's business any more
 */
export function recordProbe(
  pool: Pool,
  id: string,
  probed: Outcome,
  chance: number,
): Promise<Next | undefined> {
  return inTransaction(pool, async (client) => {
    const before = await standingOf(client, id)
    if (!before) return undefined
    const [offer] = probed.offers ?? []
    await client.query(
      `INSERT INTO hub.listing_probe (listing, outcome, status, latency_ms, price, pay_to)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [id, probed.outcome, probed.status, probed.latencyMs, offer?.price, offer?.payTo],
    )
    if (!NOT_MADE.has(probed.outcome)) await rollUp(client, id, probed)
    const { retryAfter = 0, outcome } = probed
    const next = nextState(before, outcome, { chance, retryAfter })
    if (probed.offers) await takeOver(client, id, probed.offers, probed.described)
    await client.query(CONCLUDE, [
      id,
      next.state,
      next.reason,
      next.failures,
      next.againSeconds,
      next.removed,
      outcome === 'up',
    ])
    await tellOwner(client, id, before)
    return next
  })
}

/** Locks the listing. An owner who has opted out is not probed, whatever was under way. */
async function standingOf(client: PoolClient, id: string): Promise<Before | undefined> {
  const { rows } = await client.query<Before>(
    `SELECT l.state, l.price, l.pay_to AS "payTo", l.failures,
       l.last_verified_at IS NOT NULL AS verified,
       EXISTS (SELECT FROM hub.listing_source s WHERE s.listing = l.id AND NOT s.gone
         AND (s.source <> 'submitted' OR s.seen_at > now() - interval '90 days')) AS claimed,
       (SELECT count(*)::integer FROM (SELECT outcome FROM hub.listing_probe p
          WHERE p.listing = l.id ORDER BY at DESC LIMIT 10) recent
        WHERE outcome NOT IN ('up', 'rate_limited')) AS "recentFailures",
       extract(epoch FROM now() - coalesce(l.last_verified_at, l.first_seen_at))::float8 / 86400
         AS "daysDead"
     FROM hub.listing l WHERE l.id = $1 AND l.reason IS DISTINCT FROM 'opted_out' FOR UPDATE`,
    [id],
  )
  return rows[0]
}

/** What an owner is told of when it is another one after a probe. */
interface Before extends Standing {
  readonly price: bigint
  readonly payTo: string
}

/** Tells who has proven to hold the host of a listing what has changed of it. */
async function tellOwner(client: PoolClient, id: string, before: Before): Promise<void> {
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

async function rollUp(client: PoolClient, id: string, probed: Outcome): Promise<void> {
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

/** The terms of a valid offer, and its schemas and words where it has some. */
async function takeOver(
  client: PoolClient,
  id: string,
  offers: Candidate['offers'],
  described: Described = {},
): Promise<void> {
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
      JSON.stringify(offers.map(offerRow)),
      cleanText(described.name, 100) || null,
      cleanText(described.description, 1_000) || null,
      schemaOf(described.inputSchema),
      schemaOf(described.outputSchema),
    ],
  )
}

const schemaOf = (schema: unknown): string | null => {
  const kept = storable(schema, SCHEMA_BYTES)
  return kept === null ? null : JSON.stringify(kept)
}

const CONCLUDE = `
  UPDATE hub.listing l SET state = $2, reason = $3, failures = $4, probed_at = now(),
    next_probe_at = now() + make_interval(secs => $5),
    removed_at = CASE WHEN $6 THEN now() END,
    last_verified_at = CASE WHEN $7 THEN now() ELSE last_verified_at END,
    listed_at = CASE WHEN $7 THEN coalesce(listed_at, now()) ELSE listed_at END,
    (uptime, latency_p50_ms, latency_p95_ms) = (
      SELECT 100.0 * sum(up) / nullif(sum(probes), 0),
        (SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY ms) FROM hub.listing_day d,
          unnest(latencies) ms WHERE d.listing = l.id AND d.day > now() - ${WINDOW}),
        (SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY ms) FROM hub.listing_day d,
          unnest(latencies) ms WHERE d.listing = l.id AND d.day > now() - ${WINDOW})
      FROM hub.listing_day d WHERE d.listing = l.id AND d.day > now() - ${WINDOW}),
    (calls, delivered) = (
      SELECT count(*), count(*) FILTER (WHERE i.state <> 'unused' AND i.reason IS NULL)
      FROM hub.payment_intent i WHERE i.seller = split_part(l.url, '?', 1)
        AND i.state IN ('paid', 'confirmed', 'unused') AND i.created_at > now() - ${WINDOW})
  WHERE id = $1`
