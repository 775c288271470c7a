import { z } from 'zod'
import type { AssessedListing, Caution } from '../../../core/catalog/listings/cautions.ts'
import type {
  Listing,
  ListingChange,
  ListingHistory,
  ProbeDay,
  SourceClaim,
} from '../../../core/catalog/listings/find-listings.ts'
import { REASONS } from '../../../core/catalog/listings/reasons.ts'
import { json } from '../../../core/money.ts'

const nullableTime = z.string().nullable()
const nullableNumber = z.number().nullable()

/** Calls that a latency was measured on. */
export const LATENCY_SOURCE = z.enum(['paid_calls', 'unpaid_probes'])

export const CautionView = z.object({
  code: z.string(),
  message: z.string(),
  since: nullableTime,
})

const Endpoint = z.object({
  id: z.string(),
  method: z.string(),
  path: z.string(),
  url: z.string(),
  summary: z.string(),
  price_microdollars: z.int(),
  state: z.string(),
  request_schema: z.unknown(),
  response_schema: z.unknown(),
})

export const ListingView = z.object({
  id: z.string(),
  type: z.literal('external'),
  badge: z.literal('external').meta({ description: 'Operated by a third party.' }),
  name: z.string(),
  url: z.string(),
  method: z.string(),
  host: z.string(),
  category: z.string(),
  summary: z.string(),
  tags: z.array(z.string()),
  provider: z.string(),
  state: z.enum(['active', 'degraded', 'down', 'unlisted']),
  reason: z.object({ code: z.string(), message: z.string() }).nullable(),
  scheme: z.string().meta({
    description: '`upto`: the price is the maximum, of which the usage is charged.',
  }),
  price_microdollars: z.int(),
  network: z.string(),
  asset: z.string(),
  pay_to: z.string(),
  payable_by_hub: z.boolean(),
  uptime_percentage: nullableNumber,
  latency_ms: z
    .object({ p50: nullableNumber, p95: nullableNumber })
    .meta({ description: 'Of the hub’s probes, which never pay.' }),
  paid_latency_ms: nullableNumber.meta({ description: 'Median of paid deliveries.' }),
  success_rate: nullableNumber.meta({
    description:
      'Share of delivered calls in 30 days, 0 to 1: a mean over payers, weighted by the age of ' +
      'their accounts. Errors of callers do not count.',
  }),
  payers: z.int().meta({ description: 'Distinct payers, without the seller’s own accounts.' }),
  rejected_calls: z
    .int()
    .meta({ description: 'Paid calls refused as invalid, mostly 4xx; not in success_rate.' }),
  refund_rate: nullableNumber,
  paid_calls: z.int(),
  first_seen_at: z.string(),
  listed_at: nullableTime,
  last_verified_at: nullableTime,
  last_probed_at: nullableTime,
  removed_at: nullableTime,
  endpoints: z.array(Endpoint),
})

const PricePoint = z.object({ at: z.string(), price_microdollars: z.int(), verified: z.boolean() })

/** Listing with offers, cautions and history. */
export const ListingDetailView = ListingView.extend({
  offers: z.array(z.unknown()),
  cautions: z.array(CautionView),
  price_trend: z.enum(['stable', 'raised', 'lowered', 'varying']),
  price_history: z.array(PricePoint),
  changes: z.array(
    z.object({
      at: z.string(),
      field: z.string(),
      before: z.string().nullable(),
      after: z.string(),
      verified: z.boolean(),
    }),
  ),
  uptime_history: z.array(
    z.object({
      day: z.string(),
      probes: z.int(),
      uptime_percentage: z.number(),
      latency_ms: z.object({ p50: nullableNumber, p95: nullableNumber }),
    }),
  ),
  probes: z.array(
    z.object({
      at: z.string(),
      outcome: z.string(),
      status: nullableNumber,
      latency_ms: nullableNumber,
      price_microdollars: nullableNumber,
      pay_to: z.string().nullable(),
    }),
  ),
  sources: z.array(
    z.object({
      source: z.string(),
      first_seen_at: z.string(),
      last_seen_at: z.string(),
      gone: z.boolean(),
    }),
  ),
  settled_by_facilitators: z
    .object({ payments: z.int(), amount_microdollars: z.int() })
    .meta({ description: 'Payments to the same address in 30 days. Addresses may be shared.' }),
  how_to_pay: z.object({
    method: z.literal('POST'),
    path: z.literal('/external'),
    body: z.object({ url: z.string(), method: z.string() }),
  }),
})

const isoOrNull = (date: Date | null): string | null => date?.toISOString() ?? null

const PERCENT = 100

export const showCaution = ({ code, message, since }: Caution) => ({
  code,
  message,
  since: isoOrNull(since),
})

/** Returns which calls the shown latency was measured on: paid ones if there are any. */
export const latencySource = ({ paidMs, latencyP50 }: Pick<Listing, 'paidMs' | 'latencyP50'>) =>
  paidMs !== null ? 'paid_calls' : latencyP50 !== null ? 'unpaid_probes' : null

export function showListing(listing: Listing, endpoints: readonly Listing[] = [listing]) {
  const { success } = listing
  return {
    id: listing.id,
    type: 'external' as const,
    badge: 'external' as const,
    name: listing.name,
    url: listing.url,
    method: listing.method,
    host: listing.host,
    category: listing.category,
    summary: listing.description,
    tags: listing.tags,
    provider: listing.provider,
    state: listing.state,
    reason: listing.reason && { code: listing.reason, message: REASONS[listing.reason] },
    scheme: listing.scheme,
    price_microdollars: json(listing.price),
    network: listing.network,
    asset: listing.asset,
    pay_to: listing.payTo,
    payable_by_hub: listing.payable,
    uptime_percentage: listing.uptime,
    latency_ms: { p50: listing.latencyP50, p95: listing.latencyP95 },
    paid_latency_ms: listing.paidMs,
    success_rate: success,
    refund_rate: success === null ? null : 1 - success,
    payers: listing.payers,
    rejected_calls: listing.rejected,
    paid_calls: listing.calls,
    first_seen_at: listing.firstSeenAt.toISOString(),
    listed_at: isoOrNull(listing.listedAt),
    last_verified_at: isoOrNull(listing.lastVerifiedAt),
    last_probed_at: isoOrNull(listing.probedAt),
    removed_at: isoOrNull(listing.removedAt),
    endpoints: endpoints.map(showEndpoint),
  }
}

function showEndpoint(listing: Listing) {
  const { id, method, url, description, price, state, inputSchema, outputSchema } = listing
  return {
    id,
    method,
    path: new URL(url).pathname,
    url,
    summary: description,
    price_microdollars: json(price),
    state,
    request_schema: inputSchema,
    response_schema: outputSchema,
  }
}

export interface ListingDetails {
  readonly endpoints: readonly Listing[]
  readonly history: ListingHistory
  readonly settled: { readonly payments: number; readonly amount: bigint }
}

export const showListingDetail = (
  listing: AssessedListing,
  { endpoints, history, settled }: ListingDetails,
) => ({
  ...showListing(listing, endpoints),
  offers: listing.offers,
  cautions: listing.cautions.map(showCaution),
  price_trend: listing.priceTrend,
  price_history: history.changes.filter(({ field }) => field === 'price').map(showPrice),
  changes: history.changes.map((change) => ({ ...change, at: change.at.toISOString() })),
  uptime_history: history.days.map(showDay),
  probes: history.probes.map((probe) => ({
    at: probe.at.toISOString(),
    outcome: probe.outcome,
    status: probe.status,
    latency_ms: probe.latencyMs,
    price_microdollars: probe.price === null ? null : json(probe.price),
    pay_to: probe.payTo,
  })),
  sources: history.sources.map(showSource),
  settled_by_facilitators: {
    payments: settled.payments,
    amount_microdollars: json(settled.amount),
  },
  how_to_pay: {
    method: 'POST' as const,
    path: '/external' as const,
    body: { url: listing.url, method: listing.method },
  },
})

const showPrice = ({ at: when, after, verified }: ListingChange) => ({
  at: when.toISOString(),
  price_microdollars: Number(after),
  verified,
})

const showDay = ({ day, probes, up, p50, p95 }: ProbeDay) => ({
  day,
  probes,
  uptime_percentage: (PERCENT * up) / probes,
  latency_ms: { p50, p95 },
})

const showSource = ({ source, firstSeenAt, seenAt, gone }: SourceClaim) => ({
  source,
  first_seen_at: firstSeenAt.toISOString(),
  last_seen_at: seenAt.toISOString(),
  gone,
})
