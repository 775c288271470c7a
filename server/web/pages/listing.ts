import type { Pool } from 'pg'
import { assessListing, type Caution } from '../../../core/catalog/listings/cautions.ts'
import { METERED } from '../../../core/catalog/listings/discovery/offers.ts'
import {
  type Listing,
  type ListingChange,
  type ListingHistory,
  listingsOfHost,
  type ProbeDay,
  readListingHistory,
} from '../../../core/catalog/listings/find-listings.ts'
import { REASONS } from '../../../core/catalog/listings/reasons.ts'
import { Fault } from '../../../core/errors.ts'
import { dollars } from '../../../core/money.ts'
import { renderRecent } from '../data-age.ts'
import {
  formatDollars,
  formatDuration,
  formatPercent,
  formatTime,
  lastDays,
  pluralize,
} from '../format.ts'
import { type Html, html } from '../html.ts'
import type { PageContent } from '../layout.ts'
import { type AnyPage, page } from '../page.ts'
import { type PriceStep, priceChart } from '../price-chart.ts'
import { fieldList } from '../schema-fields.ts'
import { type ChartDay, serviceCharts } from '../service-charts.ts'
import { type EntryPoints, listingSnippets } from '../snippets.ts'
import { cardTable, metrics, timeAgo } from '../table.ts'
import type { ServiceDeps } from './service.ts'

const DAYS = 30
const PROBE_NOTE = 'Measured by our probes, which never pay.'
/** Maximum rows of the tables of changes and probes. */
const MAX_ROWS = 20

/** `/listings/{id}`: an external x402 service, with results of the hub's probes. */
export const listingPage = (deps: ServiceDeps): AnyPage =>
  page('/listings/{id}', {
    access: 'public',
    render: (request) =>
      renderRecent(deps.recentReads, request, (pool) =>
        renderListing(pool, request.params['id'] ?? '', deps),
      ),
  })

async function renderListing(
  pool: Pool,
  id: string,
  deps: Omit<ServiceDeps, 'recentReads'>,
): Promise<PageContent> {
  const now = deps.clock.now()
  const listing = await assessListing(pool, id, now)
  if (!listing) throw new Fault('listing_not_found')
  const [endpoints, history] = await Promise.all([
    listingsOfHost(pool, listing),
    readListingHistory(pool, listing.id),
  ])
  const entryPoints = {
    baseUrl: deps.baseUrl(),
    proxyUrl: deps.proxyUrl(),
    mcpUrl: deps.mcpUrl(),
    command: deps.command(),
  }
  return {
    title: listing.name,
    section: 'Services',
    description: listing.description,
    main: html`<h1>${listing.name} <span class="badge">external</span></h1>
<p class="lead">${listing.description}</p>${[
      sellerFacts(listing),
      stateNotice(listing),
      listing.cautions.map(cautionBox),
      listingMetrics(listing),
      serviceCharts(chartDays(history.days, now), { source: 'probes', note: PROBE_NOTE }),
      priceChart(lastDays(now, PRICE_DAYS), priceSteps(listing, history)),
      callPart(listing, entryPoints),
      hostPart(endpoints),
      changePart(history),
      probePart(history),
    ]}`,
  }
}

/** Prices that probes measured or the seller reported; the current one if there are none. */
function priceSteps({ price, firstSeenAt }: Listing, { changes }: ListingHistory): PriceStep[] {
  const reported = changes.filter(({ field }) => field === 'price')
  const oldest = reported.at(-1)?.before ?? null
  const first = { name: 'price', amount: oldest === null ? price : BigInt(oldest), at: firstSeenAt }
  return [
    first,
    ...reported.flatMap(({ after, at }) =>
      after === null ? [] : [{ name: 'price', amount: BigInt(after), at }],
    ),
  ]
}

const PRICE_DAYS = 90

const stateNotice = ({ state, reason }: Listing): Html | undefined => {
  if (state === 'active') return undefined
  const why = reason === null ? '' : REASONS[reason]
  return html`<div class="box ${state === 'degraded' ? 'fair' : 'bad'}">
<p><strong>${state}.</strong> ${why}</p></div>`
}

const cautionBox = ({ message }: Caution): Html =>
  html`<div class="box fair"><p><strong>Caution:</strong> ${message}</p></div>`

const listingMetrics = (listing: Listing): Html =>
  metrics({
    'Price per call':
      listing.scheme === METERED
        ? `up to ${formatDollars(listing.price)}, by usage`
        : formatDollars(listing.price),
    Uptime: listing.uptime === null ? 'not probed yet' : formatPercent(listing.uptime),
    ...(listing.paidMs === null
      ? {
          'Median latency of unpaid probes':
            listing.latencyP50 === null ? 'not probed yet' : formatDuration(listing.latencyP50),
        }
      : { 'Median latency of paid calls': formatDuration(listing.paidMs) }),
    'Paid through this hub, 30 days':
      listing.payers === 0
        ? 'no calls yet'
        : `${listing.delivered} of ${listing.calls} delivered, ` +
          pluralize(listing.payers, 'payer'),
  })

const sellerFacts = (listing: Listing): Html =>
  html`<p class="facts"><span>Sold by <strong>${listing.provider}</strong>, not by this
hub</span><span>Category ${listing.category}</span><span>Last verified ${
    listing.lastVerifiedAt ? formatTime(listing.lastVerifiedAt) : 'never'
  }</span><span>Network <code>${listing.network}</code></span><span>Paid to <code>${
    listing.payTo
  }</code></span></p>`

/** One chart day for each of the last `DAYS`, with or without probes. */
function chartDays(probed: readonly ProbeDay[], now: Date): ChartDay[] {
  const known = new Map(probed.map((day) => [day.day, day]))
  return lastDays(now, DAYS).map((day) => {
    const found = known.get(day)
    const uptime = found ? Math.round((10_000 * found.up) / found.probes) / 100 : null
    return { day, uptime, latency: { p50: found?.p50 ?? null } }
  })
}

function callPart(
  { url, method, payable, inputSchema, price, scheme }: Listing,
  entryPoints: EntryPoints,
): Html {
  const input = fieldList(inputSchema)
  return html`<h2>Call it</h2><p><code>${method} ${url}</code></p>${
    payable
      ? html`<p>The hub pays the seller from your credits, ${
          scheme === METERED
            ? 'by what the seller takes of its maximum'
            : "at exactly the seller's price"
        }.
Set <code>HUB_API_KEY</code> to your key:</p>${listingSnippets(
          { url, method, inputSchema, price: dollars(price) },
          entryPoints,
        )}`
      : html`<div class="box fair"><p>This hub cannot pay for this API: it requires another
network or asset. You can pay with your own wallet.</p></div>`
  }${input && html`<h3>Input, as described by the seller</h3>${input}`}`
}

function hostPart(endpoints: readonly Listing[]): Html | undefined {
  if (endpoints.length < 2) return undefined
  return html`<h2>On the same host</h2>${cardTable(
    'On the same host',
    [
      {
        head: 'Endpoint',
        cell: (each) =>
          html`<a href="/listings/${each.id}"><code>${each.method} ${
            new URL(each.url).pathname
          }</code></a>`,
      },
      { head: 'Description', cell: ({ description }) => description },
      { head: 'Price per call', number: true, cell: ({ price }) => formatDollars(price) },
    ],
    endpoints.slice(1),
  )}`
}

function changePart({ changes: all }: ListingHistory): Html | undefined {
  if (all.length === 0) return undefined
  return html`<h2>Changes</h2>${cardTable(
    'Changes',
    [
      { head: 'Time', noWrap: true, cell: ({ at }) => timeAgo(at) },
      { head: 'Field', cell: ({ field }) => field },
      { head: 'Before', cell: (each) => changeValue(each, each.before) },
      { head: 'After', cell: (each) => changeValue(each, each.after) },
      { head: 'Source', cell: ({ verified }) => (verified ? 'probe' : 'seller') },
    ],
    all.slice(0, MAX_ROWS),
  )}`
}

const changeValue = ({ field }: ListingChange, value: string | null): string =>
  value === null ? '–' : field === 'price' ? formatDollars(BigInt(value)) : value

function probePart({ probes: all }: ListingHistory): Html | undefined {
  if (all.length === 0) return undefined
  return html`<h2>Probes</h2>${cardTable(
    'Probes',
    [
      { head: 'Time', noWrap: true, cell: ({ at }) => timeAgo(at) },
      {
        head: 'Outcome',
        cell: ({ outcome }) =>
          html`<span class="${outcome === 'up' ? 'good' : 'bad'}">${outcome}</span>`,
      },
      { head: 'Status', cell: ({ status }) => status ?? '–' },
      {
        head: 'Latency',
        number: true,
        cell: ({ latencyMs }) => (latencyMs === null ? '–' : formatDuration(latencyMs)),
      },
      {
        head: 'Price',
        number: true,
        cell: ({ price }) => (price === null ? '–' : formatDollars(price)),
      },
    ],
    all.slice(0, MAX_ROWS),
  )}`
}
