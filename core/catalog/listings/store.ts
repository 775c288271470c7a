import { createHash } from 'node:crypto'
import type { ClientBase, Pool } from 'pg'
import { base62 } from '../../ids.ts'
import type { Micros } from '../../money.ts'

export type ListingMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One way to pay, judged by the hub's own tables. */
export interface ListedOffer {
  readonly scheme: string
  /** CAIP-2. */
  readonly network: string
  /** The token, with its checksum where it has one. */
  readonly asset: string
  readonly payTo: string
  readonly price: Micros
  /** Whether `POST /external` can pay it. */
  readonly payable: boolean
}

/** What may become a listing: everything in it is checked and cut to size. */
export interface Candidate {
  /** Canonical: one resource has one. */
  readonly url: string
  readonly method: ListingMethod
  readonly name: string
  readonly description: string
  readonly category: string
  readonly tags: readonly string[]
  readonly provider: string
  /** At least one; the first is the one that is shown. */
  readonly offers: readonly [ListedOffer, ...ListedOffer[]]
  readonly inputSchema: unknown
  readonly outputSchema: unknown
  /** Whether the name is the source's own, not made of the URL. */
  readonly named: boolean
}

/**
 * Whose words count: those of a higher rank replace those of a lower one, of equal rank those that
 * bring a name, among equals the newer ones. Terms count by a probe alone, once there was one.
 */
export const RANK = { registry: 1, index: 2, document: 3 } as const

export type Rank = (typeof RANK)[keyof typeof RANK]

/** The id of a resource: the same for whoever names it, also after it was removed. */
export function listingId(method: ListingMethod, url: string): string {
  const digest = createHash('sha256').update(`${method} ${url}`).digest('hex')
  return `ext_${base62(BigInt(`0x${digest.slice(0, 32)}`), 22)}`
}

/**
 * Writes what a source claims; nothing of it is believed before a probe has seen it. A new listing
 * is `unlisted: unverified` and due for a probe at once. Of one that is there already only the
 * texts change, by rank, and its terms while no probe has seen any; when a claim disagrees with
 * what was seen, the next probe is due at once. Changes are noted, and what is searched is
 * written, by triggers in the same transaction.
 * @param candidates at most one for each method and URL
 */
export async function upsertListings(
  client: ClientBase | Pool,
  rank: Rank,
  candidates: readonly Candidate[],
): Promise<void> {
  if (candidates.length === 0) return
  await client.query(UPSERT, [JSON.stringify(candidates.map((one) => rowOf(one, rank)))])
}

function rowOf(candidate: Candidate, rank: Rank) {
  const { origin, hostname } = new URL(candidate.url)
  const [shown] = candidate.offers
  return {
    id: listingId(candidate.method, candidate.url),
    ...textsOf(candidate),
    url: candidate.url,
    method: candidate.method,
    origin,
    host: hostname,
    ...termsOf(shown),
    offers: candidate.offers.map(offerRow),
    input_schema: candidate.inputSchema ?? null,
    output_schema: candidate.outputSchema ?? null,
    rank: 2 * rank - (candidate.named ? 0 : 1),
  }
}

const textsOf = ({ name, description, category, tags, provider }: Candidate) => ({
  name,
  description,
  category,
  tags,
  provider,
})

const termsOf = ({ scheme, network, asset, payTo, price, payable }: ListedOffer) => ({
  scheme,
  network,
  asset,
  pay_to: payTo,
  price: String(price),
  payable,
})

/** An offer as it is kept. */
export const offerRow = (offer: ListedOffer) => {
  const { price, ...terms } = termsOf(offer)
  return { ...terms, price_microdollars: Number(price) }
}

const TERMS = ['scheme', 'network', 'asset', 'pay_to', 'price', 'payable', 'offers']
const TEXTS = ['name', 'description', 'category', 'tags', 'provider']
const SCHEMAS = ['input_schema', 'output_schema']
const COLUMNS = [
  'id',
  'url',
  'method',
  'origin',
  'host',
  ...TEXTS,
  ...TERMS,
  ...SCHEMAS,
  'rank',
].join(', ')

const UPSERT = `
  INSERT INTO hub.listing AS l (${COLUMNS}, state, reason, next_probe_at)
  SELECT ${COLUMNS}, 'unlisted',
    CASE WHEN out IS NULL THEN 'unverified' ELSE 'opted_out' END,
    CASE WHEN out IS NULL THEN now() END
  FROM jsonb_populate_recordset(NULL::hub.listing, $1) LEFT JOIN (SELECT host AS out
    FROM hub.listing_owner WHERE opted_out_at IS NOT NULL) owned ON host = out
  ON CONFLICT (id) DO UPDATE SET
    ${TEXTS.map((name) => `${name} = ${byRank(name)}`).join(', ')},
    ${SCHEMAS.map((name) => `${name} = ${untilSeen(name)}`).join(', ')},
    ${TERMS.map((name) => `${name} = ${unlessSeen(name)}`).join(', ')},
    rank = greatest(l.rank, excluded.rank),
    removed_at = CASE WHEN l.reason = 'opted_out' THEN l.removed_at END,
    reason = CASE WHEN l.removed_at IS NULL OR l.reason = 'opted_out' THEN l.reason
      ELSE 'unverified' END,
    next_probe_at = CASE
      WHEN l.reason = 'opted_out' THEN NULL
      WHEN l.removed_at IS NOT NULL OR NOT l.offers @> jsonb_build_array(excluded.offers -> 0)
        THEN least(l.next_probe_at, now())
      ELSE l.next_probe_at END`

/** The words of whoever has the higher rank. */
function byRank(name: string): string {
  return `CASE WHEN excluded.rank >= l.rank THEN excluded.${name} ELSE l.${name} END`
}

/** A claim, as long as no probe has seen how it is. */
function unlessSeen(name: string): string {
  return (
    `CASE WHEN l.last_verified_at IS NULL AND excluded.rank >= l.rank ` +
    `THEN excluded.${name} ELSE l.${name} END`
  )
}

/** Schemas as claimed until a probe has seen the offer; from then on only what is missing. */
function untilSeen(name: string): string {
  return (
    `CASE WHEN l.last_verified_at IS NULL THEN coalesce(${byRank(name)}, l.${name}) ` +
    `ELSE coalesce(l.${name}, excluded.${name}) END`
  )
}
