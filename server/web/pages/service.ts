import type { Pool } from 'pg'
import { z } from 'zod'
import { findService, type ListedEndpoint, type Listing } from '../../../core/catalog/listings.ts'
import { type ServiceDay, serviceDays } from '../../../core/catalog/service-days.ts'
import { Fault } from '../../../core/errors.ts'
import { priceTag } from '../../../core/money.ts'
import { exampleOf } from '../../../core/testing/example.ts'
import { charts } from '../chart.ts'
import { count, counted, milliseconds, percent, priceRange } from '../format.ts'
import { type Html, html } from '../html.ts'
import { type AnyPage, page } from '../page.ts'
import { snippets } from '../snippets.ts'

export interface ServicePorts {
  readonly pool: Pool
  readonly baseUrl: () => string
  readonly proxyUrl: () => string
}

/** `/services/{slug}`: what it does, what it costs, how it has done, and how it is called. */
export const servicePage = ({ pool, baseUrl, proxyUrl }: ServicePorts): AnyPage =>
  page({
    path: '/services/{slug}',
    query: z.object({}),
    show: async ({ params }) => {
      const { slug = '' } = params
      const found = await findService(pool, slug)
      if (!found) throw new Fault('service_not_found')
      const { listing, endpoints } = found
      const days = await serviceDays(pool, slug)
      return {
        title: listing.name,
        section: 'Services',
        description: listing.summary,
        main: html`<h1>${listing.name}</h1><p class="lead">${listing.summary}</p>
${figures(listing)}${charts(days, 'calls', callsOf(days))}<h2>Endpoints</h2>
<p>With a key of yours in <code>HUB_KEY</code> these calls can be pasted as they are; without one
they answer 402 with an x402 offer. The same as
<a href="/v1/services/${slug}/openapi.json">OpenAPI</a>.</p>${endpoints.map((endpoint) =>
          endpointOf(slug, endpoint, { baseUrl: baseUrl(), proxyUrl: proxyUrl() }),
        )}`,
      }
    },
  })

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
    listing.uptimePercentage === null ? 'no calls yet' : percent(listing.uptimePercentage)
  }</dd></div><div><dt>Average latency</dt><dd>${
    listing.averageLatencyMs === null ? 'no calls yet' : milliseconds(listing.averageLatencyMs)
  }</dd></div><div><dt>Provider</dt><dd>${listing.provider}</dd></div>
<div><dt>Category</dt><dd><a href="/services?category=${listing.category}">${
    listing.category
  }</a></dd></div></dl>`

function endpointOf(
  slug: string,
  endpoint: ListedEndpoint,
  urls: { readonly baseUrl: string; readonly proxyUrl: string },
): Html {
  const { method, path, summary, price, computed, inputSchema, outputSchema } = endpoint
  const input = exampleOf(inputSchema as Parameters<typeof exampleOf>[0])
  return html`<article class="endpoint"><h3><code>${method} ${path}</code></h3>
<p>${summary}</p><p><strong>${computed && 'up to '}${priceTag(price)}</strong> a call, version ${
    endpoint.priceVersion
  } of the price. What fails is not charged.</p>${snippets({ slug, method, path, input, ...urls })}
<details><summary>Input schema</summary><pre tabindex="0"><code>${written(inputSchema)}</code></pre>
</details>${
    outputSchema !== null &&
    html`<details><summary>Output schema</summary>
<pre tabindex="0"><code>${written(outputSchema)}</code></pre></details>`
  }</article>`
}

const written = (value: unknown): string => JSON.stringify(value, null, 2)
