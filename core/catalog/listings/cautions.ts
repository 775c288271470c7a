import type { Pool } from 'pg'
import { daysBefore } from '../../clock.ts'
import { isJsonObject } from '../../json.ts'
import {
  findListingsById,
  type Listing,
  type ListingChange,
  type ListingHistory,
} from './find-listings.ts'

/** Warning to consider before paying a seller. */
export interface Caution {
  readonly code: string
  readonly message: string
  readonly since: Date | null
}

const RECENT_DAYS = 30
/** Fewer payers, weighted by the age of their accounts, or fewer calls show nothing. */
const TRUST_MIN = 1
const CALLS_MIN = 3
/** A paid call waits for its settlement, so that only a multiple of the probes' latency counts. */
const SLOWER = { factor: 5, ms: 5_000 } as const
const REJECTED_MIN = 5

/** Facts that cautions are derived from; changes are verified ones of 30 days, newest first. */
type CautionEvidence = Pick<ListingHistory, 'changes' | 'sources'>

/** Derives warnings about a listing from what probes and paid calls have shown. Pure. */
function cautionsOf(listing: Listing, evidence: CautionEvidence, now: Date): Caution[] {
  return [
    ...changeCautions(listing, evidence.changes),
    ...callCautions(listing),
    ...claimCautions(listing, evidence.sources, now),
  ]
}

const caution = (code: string, message: string, since: Date | null = null): Caution => ({
  code,
  message,
  since,
})

function changeCautions(listing: Listing, changes: readonly ListingChange[]): Caution[] {
  const recent = changes.filter(({ before }) => before !== null)
  const newest = (field: ListingChange['field']) => recent.find((each) => each.field === field)
  const [payTo, network, schema] = [newest('pay_to'), newest('network'), newest('schema')]
  const raised = lowestPrice(recent)
  return [
    ...(payTo
      ? [caution('pay_to_changed', `The previous recipient was ${payTo.before}.`, payTo.at)]
      : []),
    ...(raised && BigInt(raised.before!) < listing.price
      ? [caution('price_raised', `The price was ${raised.before} microdollars.`, raised.at)]
      : []),
    ...(network
      ? [caution('network_changed', `The previous network was ${network.before}.`, network.at)]
      : []),
    ...(schema
      ? [caution('schema_changed', 'The input or output schema has changed.', schema.at)]
      : []),
  ]
}

/** Returns the change from the lowest price; small raises add up. */
const lowestPrice = (changes: readonly ListingChange[]): ListingChange | undefined =>
  changes
    .filter(({ field }) => field === 'price')
    .toSorted((a, b) => Number(BigInt(a.before!) - BigInt(b.before!)))[0]

function callCautions({ payers, trust, success, paidMs, latencyP50, ...listing }: Listing) {
  const { calls, delivered, rejected, payable } = listing
  const cautions: Caution[] = []
  if (trust >= TRUST_MIN && calls >= CALLS_MIN && success !== null && success < 0.8) {
    const text = `Only ${delivered} of ${calls} paid calls were delivered (payers: ${payers}).`
    cautions.push(caution('often_undelivered', text))
  }
  if (rejected >= REJECTED_MIN && rejected > delivered) {
    const text = `${rejected} paid calls failed as wrong (4xx); ${delivered} were delivered.`
    cautions.push(caution('often_rejected', `${text} Check the input.`))
  }
  if (
    paidMs !== null &&
    paidMs >= SLOWER.ms &&
    latencyP50 !== null &&
    paidMs >= SLOWER.factor * latencyP50
  ) {
    const text = `Paid calls take ${paidMs} ms, unpaid probes ${latencyP50} ms (medians).`
    cautions.push(caution('slower_when_paid', text))
  }
  if (!payable) {
    const text = 'POST /external cannot pay it; use a client of the seller.'
    cautions.push(caution('not_payable', text))
  }
  return cautions
}

function claimCautions(listing: Listing, sources: ListingHistory['sources'], now: Date): Caution[] {
  const { lastVerifiedAt } = listing
  if (!lastVerifiedAt) return []
  const other = sources.filter(({ gone }) => !gone).find((one) => contradicts(one.claim, listing))
  const text = 'No probe has seen a valid offer for a week.'
  return [
    ...(lastVerifiedAt < daysBefore(now, 7) ? [caution('stale', text, lastVerifiedAt)] : []),
    ...(other
      ? [
          caution(
            'claims_differ',
            `${other.source} reports other terms than the seller.`,
            other.seenAt,
          ),
        ]
      : []),
  ]
}

/** Price history of 30 days in a word. */
type PriceTrend = 'stable' | 'raised' | 'lowered' | 'varying'

function priceTrend(changes: readonly ListingChange[]): PriceTrend {
  const steps = changes.filter(({ field, before }) => field === 'price' && before !== null)
  const ups = steps.filter(({ before, after }) => BigInt(after) > BigInt(before!)).length
  if (steps.length === 0) return 'stable'
  return ups === steps.length ? 'raised' : ups === 0 ? 'lowered' : 'varying'
}

/** Reads up to 100 changes of each field, so that a flood of one hides no other. */
const SELECT_EVIDENCE = `
  SELECT l.id,
    (SELECT coalesce(json_agg(c), '[]') FROM (SELECT c.field, c.before, c.after, c.verified, c.at
      FROM unnest('{price,pay_to,network,schema}'::text[]) f (field)
      CROSS JOIN LATERAL (SELECT * FROM hub.listing_change
        WHERE listing = l.id AND field = f.field AND verified AND at > $2
        ORDER BY id DESC LIMIT 100) c ORDER BY c.id DESC) c) AS changes,
    (SELECT coalesce(json_agg(s), '[]') FROM (SELECT source, claim, gone,
        first_seen_at AS "firstSeenAt", seen_at AS "seenAt" FROM hub.listing_source
      WHERE listing = l.id ORDER BY seen_at DESC LIMIT 20) s) AS sources,
    (SELECT coalesce(sum(probes), 0)::integer FROM hub.listing_day
      WHERE listing = l.id AND day > now() - interval '30 days') AS probes
  FROM unnest($1::text[]) l (id)`

/** Listing with the warnings to consider before paying it. */
export interface AssessedListing extends Listing {
  /** Number of probes in 30 days, of which `uptime` is a share. */
  readonly probes: number
  readonly cautions: readonly Caution[]
  readonly priceTrend: PriceTrend
}

/** Finds listings in any state, in no order, with their cautions; two queries at once. */
export async function assessListings(
  pool: Pool,
  ids: readonly string[],
  now: Date,
): Promise<AssessedListing[]> {
  if (ids.length === 0) return []
  const [listings, { rows }] = await Promise.all([
    findListingsById(pool, ids),
    pool.query<CautionEvidence & { id: string; probes: number }>(SELECT_EVIDENCE, [
      ids,
      daysBefore(now, RECENT_DAYS),
    ]),
  ])
  const byId = new Map(rows.map((row) => [row.id, row]))
  return listings.map((listing) => {
    const { probes, ...found } = byId.get(listing.id)!
    const evidence = withDates(found)
    const cautions = cautionsOf(listing, evidence, now)
    return { ...listing, cautions, probes, priceTrend: priceTrend(evidence.changes) }
  })
}

/** Finds a listing in any state with its cautions. */
export async function assessListing(
  pool: Pool,
  id: string,
  now: Date,
): Promise<AssessedListing | undefined> {
  const [listing] = await assessListings(pool, [id], now)
  return listing
}

/** Parses the times, which are texts in JSON. */
const withDates = ({ changes, sources }: CautionEvidence): CautionEvidence => ({
  changes: changes.map((each) => ({ ...each, at: new Date(each.at) })),
  sources: sources.map((each) => ({ ...each, seenAt: new Date(each.seenAt) })),
})

/** Returns true if none of a source's offers equals the one that probes have seen. */
function contradicts(claim: unknown, { payTo, price, network }: Listing): boolean {
  if (!isJsonObject(claim) || !Array.isArray(claim['offers'])) return false
  return !claim['offers'].some(
    (offer) =>
      isJsonObject(offer) &&
      offer['pay_to'] === payTo &&
      offer['network'] === network &&
      String(offer['price_microdollars']) === String(price),
  )
}
