import type { Pool } from 'pg'
import { z } from 'zod'
import {
  findService,
  type ListedEndpoint,
  type Listing,
} from '../../../core/catalog/services/published-services.ts'
import { type ServiceDay, serviceDays } from '../../../core/catalog/services/service-days.ts'
import { Fault } from '../../../core/errors.ts'
import { exampleOf } from '../../../core/testing/example.ts'
import { COPY_SCRIPT } from '../assets.ts'
import { charts } from '../chart.ts'
import { count, counted, inDollars, milliseconds, percent, priceRange } from '../format.ts'
import { type Html, html } from '../html.ts'
import { type AnyPage, page } from '../page.ts'
import { fieldList } from '../schema.ts'
import { type Doors, snippets } from '../snippets.ts'
import { cardTable } from '../table.ts'

export interface ServicePorts {
  readonly pool: Pool
  readonly baseUrl: () => string
  readonly proxyUrl: () => string
  readonly mcpUrl: () => string
}

/** `/services/{slug}`: what it does, what it costs, how it has done, and how it is called. */
export const servicePage = ({ pool, baseUrl, proxyUrl, mcpUrl }: ServicePorts): AnyPage =>
  page({
    path: '/services/{slug}',
    query: z.object({}),
    show: async ({ params }) => {
      const { slug = '' } = params
      const [found, days] = await Promise.all([findService(pool, slug), serviceDays(pool, slug)])
      if (!found) throw new Fault('service_not_found')
      const { listing, endpoints } = found
      return {
        title: listing.name,
        section: 'Services',
        description: listing.summary,
        scripts: [COPY_SCRIPT],
        main: html`<p class="crumbs"><a href="/services">Services</a></p><h1>${listing.name}</h1>
<p class="lead">${listing.summary}</p><p class="facts"><span>By
<strong>${listing.provider}</strong></span><span>Category
<a href="/services?category=${listing.category}">${listing.category}</a></span>
<span><a href="/v1/services/${slug}/openapi.json">OpenAPI</a></span></p>${figures(listing)}${charts(
          days,
          'calls',
          callsOf(days),
        )}${introduction(slug, endpoints)}${endpoints.map((endpoint) =>
          endpointOf(slug, endpoint, {
            baseUrl: baseUrl(),
            proxyUrl: proxyUrl(),
            mcpUrl: mcpUrl(),
          }),
        )}`,
      }
    },
  })

/** What all endpoints have in common, and where each of them is. */
const introduction = (slug: string, endpoints: readonly ListedEndpoint[]): Html =>
  html`<h2>Endpoints</h2><p>With a key of yours in <code>HUB_API_KEY</code> each call can be pasted
as it is (<a href="/account/keys">make one</a>). Without the header <code>Authorization</code> it
answers 402 with an offer that a wallet can pay by x402. A call that fails is not charged.</p>${
    endpoints.length > 1 &&
    cardTable(
      'Endpoints',
      [
        {
          head: 'Endpoint',
          cell: (each) =>
            html`<a href="#${idOf(each)}"><code>${each.method} ${each.path}</code></a>`,
        },
        { head: 'What it does', cell: ({ summary }) => summary },
        { head: 'Price of a call', number: true, cell: (each) => priceOf(each) },
      ],
      endpoints,
    )
  }`

const idOf = ({ method, path }: ListedEndpoint): string =>
  `${method}${path.replaceAll(/[^\w]+/g, '-')}`.toLowerCase()

const priceOf = ({ price, computed }: ListedEndpoint): string =>
  `${computed ? 'up to ' : ''}${inDollars(price)}`

const callsOf = (days: readonly ServiceDay[]): string =>
  `${counted(
    days.reduce((sum, { calls }) => sum + calls, 0),
    'call',
  )} in ${days.length} days.`

const figures = (listing: Listing): Html =>
  html`<dl class="figures"><div><dt>Price of a call</dt><dd>${priceRange(
    listing.minPrice,
    listing.maxPrice,
  )}</dd></div><div><dt>Free calls a month</dt><dd>${count(listing.freeCallsPerMonth)}</dd></div>
<div><dt>Uptime, 30 days</dt><dd>${
    listing.uptimePercentage === null ? '–' : percent(listing.uptimePercentage)
  }</dd></div><div><dt>Average latency, 30 days</dt><dd>${
    listing.averageLatencyMs === null ? '–' : milliseconds(listing.averageLatencyMs)
  }</dd></div></dl>`

function endpointOf(slug: string, endpoint: ListedEndpoint, doors: Doors): Html {
  const { method, path, summary, priceVersion, inputSchema, outputSchema } = endpoint
  const input = exampleOf(inputSchema as Parameters<typeof exampleOf>[0])
  return html`<article class="endpoint" id="${idOf(endpoint)}">
<h3><code>${method} ${path}</code></h3>
<p>${summary}</p><p class="facts"><span><strong>${priceOf(endpoint)}</strong> a call</span><span>
Version ${priceVersion} of the price</span></p>${
    fieldList(inputSchema) ??
    html`<p>It takes no
input.</p>`
  }${snippets({ slug, method, path, input }, doors)}
<details><summary>Input schema</summary><pre tabindex="0"><code>${written(inputSchema)}</code></pre>
</details>${
    outputSchema !== null &&
    html`<details><summary>Output schema</summary>
<pre tabindex="0"><code>${written(outputSchema)}</code></pre></details>`
  }</article>`
}

const written = (value: unknown): string => JSON.stringify(value, null, 2)
