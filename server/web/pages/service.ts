import type { Pool } from 'pg'
import { providerLabel } from '../../../core/catalog/review/provider-names.ts'
import { readPriceHistory } from '../../../core/catalog/services/price-history.ts'
import {
  findService,
  type PublishedService,
  publishedMeter,
  type ServiceEndpoint,
} from '../../../core/catalog/services/published-services.ts'
import {
  type LatencyPercentiles,
  readEndpointLatencies,
} from '../../../core/catalog/services/service-days.ts'
import type { Clock } from '../../../core/clock.ts'
import type { RecentReads } from '../../../core/db/recent-reads.ts'
import { Fault } from '../../../core/errors.ts'
import { unitCount } from '../../../core/money.ts'
import { exampleInput } from '../../../core/testing/example.ts'
import { assistantSetup } from '../assistant-setup.ts'
import { renderRecent } from '../data-age.ts'
import {
  formatCount,
  formatDollars,
  formatDuration,
  formatPercent,
  lastDays,
  priceLimit,
  priceRange,
} from '../format.ts'
import { type Html, html } from '../html.ts'
import type { PageContent } from '../layout.ts'
import { type AnyPage, page, type Redirect } from '../page.ts'
import { priceChart } from '../price-chart.ts'
import { fieldList } from '../schema-fields.ts'
import { type EntryPoints, serviceSnippets } from '../snippets.ts'
import { cardTable, metrics } from '../table.ts'
import { PerformanceQuery, performancePart, readPerformance } from './service-performance.ts'
import { tryPath } from './try.ts'

export interface ServiceDeps {
  readonly recentReads: RecentReads
  readonly clock: Clock
  readonly baseUrl: () => string
  readonly proxyUrl: () => string
  readonly mcpUrl: () => string
  readonly command: () => string
}

/** Calls of external APIs appear in histories under the service `external`. */
const EXTERNAL_APIS = '/services?type=external'

/** `/services/{slug}`: description, price, reliability and endpoints of a service. */
export const servicePage = (deps: ServiceDeps): AnyPage =>
  page('/services/{slug}', {
    access: 'public',
    query: PerformanceQuery,
    render: (request) =>
      renderRecent(deps.recentReads, request, (pool) =>
        renderService(pool, request.params['slug'] ?? '', request.query, deps),
      ),
  })

async function renderService(
  pool: Pool,
  slug: string,
  query: PerformanceQuery,
  deps: Omit<ServiceDeps, 'recentReads'>,
): Promise<PageContent | Redirect> {
  const [found, performance, latencies, prices] = await Promise.all([
    findService(pool, slug),
    readPerformance(pool, slug, query),
    readEndpointLatencies(pool, slug),
    readPriceHistory(pool, slug),
  ])
  if (!found && slug === 'external') return { to: EXTERNAL_APIS }
  if (!found) throw new Fault('service_not_found')
  const { listing, endpoints } = found
  const entryPoints = {
    baseUrl: deps.baseUrl(),
    proxyUrl: deps.proxyUrl(),
    mcpUrl: deps.mcpUrl(),
    command: deps.command(),
  }
  return {
    title: listing.name,
    section: 'Services',
    description: listing.summary,
    main: html`<p class="breadcrumb"><a
href="/services">Services</a></p><h1>${listing.name}</h1>
<p class="lead">${listing.summary}</p><p class="facts"><span>By
<a href="/providers/${listing.provider}">${providerLabel(
      listing.provider,
      listing.providerName,
    )}</a></span><span>Category
<a href="/services?category=${listing.category}">${listing.category}</a></span>
<span><a href="/v1/services/${slug}/openapi.json">OpenAPI</a></span></p>${[
      serviceMetrics(listing),
      assistantSetup(slug, entryPoints),
      performancePart(`/services/${slug}`, endpoints, query, performance),
      priceChart(lastDays(deps.clock.now(), PRICE_DAYS), prices),
      endpointOverview(endpoints, latencies),
      endpointArticles(slug, endpoints, entryPoints),
    ]}`,
  }
}

const UNTESTED_BADGE = html` <span class="badge fair">Untested</span>`
const UNTESTED_NOTE = html`<p class="box fair">Its provider sells this endpoint without a test call,
and no call was delivered yet. Failed calls are not charged.</p>`

const PRICE_DAYS = 90

type Latencies = ReadonlyMap<string, LatencyPercentiles>

const latencyColumn = (name: keyof LatencyPercentiles, head: string, latencies: Latencies) => ({
  head,
  number: true,
  cell: ({ method, path }: ServiceEndpoint) => {
    const value = latencies.get(`${method} ${path}`)?.[name] ?? null
    return value === null ? '–' : formatDuration(value)
  },
})

/** States how calls without a key are paid. */
function paymentNote(endpoints: readonly ServiceEndpoint[]): Html {
  const isMetered = endpoints.some((each) => publishedMeter(each) !== undefined)
  return html`Without the <code>Authorization</code> header, the response is 402 with an x402
offer that a wallet can pay.${
    isMetered &&
    html` For a metered price, the payment authorizes the maximum and the usage is taken
(scheme <code>upto</code>); if the response offers none, credits pay.`
  }`
}

/** Introduction to the endpoints, and a table that links to each. */
const endpointOverview = (endpoints: readonly ServiceEndpoint[], latencies: Latencies): Html =>
  html`<h2>Endpoints</h2><p>Set <code>HUB_API_KEY</code> to your key
(<a href="/account/keys">create one</a>), then paste any of these calls. ${paymentNote(
    endpoints,
  )} Failed calls are not charged.</p>${
    (endpoints.length > 1 || latencies.size > 0) &&
    cardTable(
      'Endpoints',
      [
        {
          head: 'Endpoint',
          cell: (each) =>
            html`<a href="#${idOf(each)}"><code>${each.method} ${each.path}</code></a>${
              !each.tested && UNTESTED_BADGE
            }`,
        },
        { head: 'Description', cell: ({ summary }) => summary },
        { head: 'Price per call', number: true, cell: (each) => priceOf(each) },
        latencyColumn('p50', 'Latency, 30 days: p50', latencies),
        latencyColumn('p95', 'p95', latencies),
        latencyColumn('p99', 'p99', latencies),
      ],
      endpoints,
    )
  }`

/** Endpoints with their forms and code, beside a list of them. */
const endpointArticles = (
  slug: string,
  endpoints: readonly ServiceEndpoint[],
  entryPoints: EntryPoints,
): Html => {
  const articles = endpoints.map((endpoint) => endpointPart(slug, endpoint, entryPoints))
  return html`<div class="endpoints">${
    endpoints.length > 1 && endpointLinks(endpoints)
  }<div>${articles}</div></div>`
}

/** List of the endpoints that stays beside them on wide screens. */
const endpointLinks = (endpoints: readonly ServiceEndpoint[]): Html =>
  html`<nav class="endpoint-links" aria-label="Endpoints of this page"><ul>${endpoints.map(
    (each) => html`<li><a href="#${idOf(each)}"><code>${each.method} ${each.path}</code></a></li>`,
  )}</ul></nav>`

const idOf = ({ method, path }: ServiceEndpoint): string =>
  `${method}${path.replaceAll(/[^\w]+/g, '-')}`.toLowerCase()

const priceOf = (endpoint: ServiceEndpoint): string => {
  const { price, computed } = endpoint
  const metered = publishedMeter(endpoint)
  const total = priceLimit(price, computed)
  if (!metered) return total
  const { unit, per, price_microdollars: amount } = metered
  return `${formatDollars(amount)} for ${unitCount(per, unit)}, ${total}`
}

const serviceMetrics = (listing: PublishedService): Html =>
  metrics({
    'Price per call': priceRange(listing),
    'Free calls per month': formatCount(listing.freeCallsPerMonth),
    ...Object.fromEntries(
      Object.entries(listing.freeUnits).map(([unit, count]) => [
        `Free ${unit} per month`,
        formatCount(count),
      ]),
    ),
    'Uptime, 30 days':
      listing.uptimePercentage === null ? '–' : formatPercent(listing.uptimePercentage),
    'Median latency, 30 days':
      listing.medianLatencyMs === null ? '–' : formatDuration(listing.medianLatencyMs),
  })

function endpointPart(slug: string, endpoint: ServiceEndpoint, entryPoints: EntryPoints): Html {
  const { method, path, summary, priceVersion, inputSchema, outputSchema, sample } = endpoint
  const input = sample ?? exampleInput(inputSchema)
  return html`<article class="endpoint" id="${idOf(endpoint)}">
<h3><code>${method} ${path}</code>${!endpoint.tested && UNTESTED_BADGE}</h3>
<p>${summary}</p>${!endpoint.tested && UNTESTED_NOTE}<p class="facts"><span>
<strong>${priceOf(endpoint)}</strong>
per call</span><span>Price version ${priceVersion}</span></p>${
    fieldList(inputSchema) ??
    html`<p>No
input.</p>`
  }<p><a class="button" href="${tryPath(slug, endpoint)}" aria-label="Try it: ${method} ${path}">
Try it</a></p>${serviceSnippets({ slug, method, path, input }, entryPoints)}
<details><summary>Input schema</summary>
<pre tabindex="0"><code>${prettyJson(inputSchema)}</code></pre>
</details>${
    outputSchema !== null &&
    html`<details><summary>Output schema</summary>
<pre tabindex="0"><code>${prettyJson(outputSchema)}</code></pre></details>`
  }</article>`
}

const prettyJson = (value: unknown): string => JSON.stringify(value, null, 2)
