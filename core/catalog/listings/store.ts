import { hash } from 'node:crypto'
import type { ClientBase, Pool } from 'pg'
import { base62 } from '../../ids.ts'
import type { Micros } from '../../money.ts'
import { reservedNames } from '../review/impersonation.ts'

export type ListingMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Payment option, checked against the hub's own tables of networks and tokens. */
export interface ListedOffer {
  readonly scheme: string
  /** CAIP-2. */
  readonly network: string
  /** Token address, with its checksum on networks that have one. */
  readonly asset: string
  readonly payTo: string
  readonly price: Micros
  /** True if `POST /external` can pay it. */
  readonly payable: boolean
}

/** Possible listing; all members are validated and truncated. */
export interface ListingCandidate {
  /** Canonical: unique per resource. */
  readonly url: string
  readonly method: ListingMethod
  readonly name: string
  readonly description: string
  readonly category: string
  readonly tags: readonly string[]
  readonly provider: string
  /** At least one; the first is shown. */
  readonly offers: readonly [ListedOffer, ...ListedOffer[]]
  readonly inputSchema: unknown
  readonly outputSchema: unknown
  /** True if the source names it; false if the name is derived from the URL. */
  readonly named: boolean
}

/**
 * Precedence of sources: texts of a higher rank replace those of a lower one; within a rank, named
 * candidates come first, then newer ones. After the first successful probe, only probes set terms.
 */
export const RANK = { registry: 1, index: 2, document: 3 } as const

export type Rank = (typeof RANK)[keyof typeof RANK]

/** Derives the id of a resource: the same for every source, also after a removal. */
export function listingId(method: ListingMethod, url: string): string {
  const digest = hash('sha256', `${method} ${url}`, 'hex')
  return `ext_${base62(BigInt(`0x${digest.slice(0, 32)}`), 22)}`
}

/**
 * Writes the claims of a source, which count only after a probe. A new listing is
 * `unlisted: unverified` and due for a probe at once. Of an existing listing only the texts change,
 * by rank, and the terms until a probe has seen any; a claim that differs from what was seen makes
 * the next probe due at once. Triggers record changes and update the search index in the same
 * transaction.
 * @param candidates at most one per method and URL
 */
export async function upsertListings(
  client: ClientBase | Pool,
  rank: Rank,
  candidates: readonly ListingCandidate[],
): Promise<void> {
  if (candidates.length === 0) return
  const reserved = await reservedNames(
    client,
    candidates.map(({ name }) => name),
  )
  const rows = candidates.map((one) =>
    listingRow(reserved.has(one.name) ? { ...one, name: hostName(one), named: false } : one, rank),
  )
  await client.query(UPSERT, [JSON.stringify(rows)])
}

/** Name of a listing whose own name is reserved. */
const hostName = ({ url }: ListingCandidate): string => new URL(url).hostname.slice(0, 100)

function listingRow(candidate: ListingCandidate, rank: Rank) {
  const { origin, hostname } = new URL(candidate.url)
  const [first] = candidate.offers
  return {
    id: listingId(candidate.method, candidate.url),
    ...textsOf(candidate),
    url: candidate.url,
    method: candidate.method,
    origin,
    host: hostname,
    ...termsOf(first),
    offers: candidate.offers.map(offerJson),
    input_schema: candidate.inputSchema ?? null,
    output_schema: candidate.outputSchema ?? null,
    rank: 2 * rank - (candidate.named ? 0 : 1),
  }
}

const textsOf = ({ name, description, category, tags, provider }: ListingCandidate) => ({
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

/** Stored form of an offer. */
export const offerJson = (offer: ListedOffer) => {
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

/**
 * Locks listings in the order of their ids, as every writer of several does. All are locked before
 * a trigger locks the words of search, which only one transaction at a time changes.
 */
export async function lockListings(client: ClientBase, ids: readonly string[]): Promise<void> {
  await client.query('SELECT FROM hub.listing WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE', [
    ids,
  ])
}

const UPSERT = `
  INSERT INTO hub.listing AS l (${COLUMNS}, state, reason, next_probe_at)
  SELECT ${COLUMNS}, 'unlisted',
    CASE WHEN out IS NULL THEN 'unverified' ELSE 'opted_out' END,
    CASE WHEN out IS NULL THEN now() END
  FROM jsonb_populate_recordset(NULL::hub.listing, $1) LEFT JOIN (SELECT host AS out
    FROM hub.listing_owner WHERE opted_out_at IS NOT NULL) owned ON host = out
  ORDER BY id
  ON CONFLICT (id) DO UPDATE SET
    ${TEXTS.map((name) => `${name} = ${textByRank(name)}`).join(', ')},
    ${SCHEMAS.map((name) => `${name} = ${schemaUntilVerified(name)}`).join(', ')},
    ${TERMS.map((name) => `${name} = ${claimUntilVerified(name)}`).join(', ')},
    rank = greatest(l.rank, excluded.rank),
    removed_at = CASE WHEN l.reason = 'opted_out' THEN l.removed_at END,
    reason = CASE WHEN l.removed_at IS NULL OR l.reason = 'opted_out' THEN l.reason
      ELSE 'unverified' END,
    next_probe_at = CASE
      WHEN l.reason = 'opted_out' THEN NULL
      WHEN l.removed_at IS NOT NULL
        OR NOT l.offers @> jsonb_build_array((excluded.offers -> 0) - 'payable')
        THEN least(l.next_probe_at, now())
      ELSE l.next_probe_at END`

/** SQL: the text of the higher rank. */
function textByRank(name: string): string {
  return `CASE WHEN excluded.rank >= l.rank THEN excluded.${name} ELSE l.${name} END`
}

/** SQL: the claimed terms until a probe has seen an offer. */
function claimUntilVerified(name: string): string {
  return (
    `CASE WHEN l.last_verified_at IS NULL AND excluded.rank >= l.rank ` +
    `THEN excluded.${name} ELSE l.${name} END`
  )
}

/** SQL: the claimed schema until a probe has seen an offer; afterwards only if it is missing. */
function schemaUntilVerified(name: string): string {
  return (
    `CASE WHEN l.last_verified_at IS NULL THEN coalesce(${textByRank(name)}, l.${name}) ` +
    `ELSE coalesce(l.${name}, excluded.${name}) END`
  )
}
