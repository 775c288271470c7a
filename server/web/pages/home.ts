import type { Pool } from 'pg'
import { type HubFigures, readHubFigures } from '../../../core/catalog/services/hub-figures.ts'
import {
  findService,
  listServices,
  suggestService,
} from '../../../core/catalog/services/published-services.ts'
import { refreshedWhileUsed } from '../../../core/runtime/cache.ts'
import { exampleInput } from '../../../core/testing/example.ts'
import { copyableText } from '../code-tabs.ts'
import { formatCount, formatDuration } from '../format.ts'
import { type Html, html } from '../html.ts'
import { emptyState } from '../messages.ts'
import { type AnyPage, page } from '../page.ts'
import { serviceCard } from '../service-cards.ts'
import { type EntryPoints, serviceSnippets } from '../snippets.ts'
import { metrics } from '../table.ts'
import { tryPath } from './try.ts'

const MAX_SERVICES = 6
const CACHE_MS = 30_000

export interface HomeDeps {
  readonly pool: Pool
  readonly baseUrl: () => string
  readonly proxyUrl: () => string
  readonly mcpUrl: () => string
  readonly command: () => string
}

/** `/`: what the hub is for, a first call, figures, and services. */
export const homePage = (deps: HomeDeps): AnyPage => {
  const { pool, baseUrl, proxyUrl, mcpUrl, command } = deps
  const figures = refreshedWhileUsed(CACHE_MS, () => readHubFigures(pool))
  const suggested = refreshedWhileUsed(CACHE_MS, async () => {
    const service = await suggestService(pool)
    return { service: service && (await findService(pool, service.slug)) }
  })
  const entryPoints = () => {
    return { baseUrl: baseUrl(), proxyUrl: proxyUrl(), mcpUrl: mcpUrl(), command: command() }
  }
  return page('/', {
    access: 'public',
    render: async () => {
      const [hub, { service }, services] = await Promise.all([
        figures(),
        suggested(),
        listServices(pool, { limit: MAX_SERVICES, after: undefined }),
      ])
      return {
        title: 'APIs for agents, paid per request',
        description:
          'Marketplace where software agents find APIs, pay per request in USDC and call them.',
        main: html`<div class="hero"><section><h1>APIs for agents, paid per request</h1>
<p class="lead">One key, or one signature, for every API. Pay with free calls, credits or x402.</p>
<p class="actions"><a class="button" href="/account/keys#make">Get an API key</a>
<a class="button plain" href="/provider/services">Sell an API</a></p>
<form class="search-box" action="/services" role="search">
<input type="search" name="q" aria-label="What the API should do"
placeholder="What should the API do?"><button type="submit">Search</button></form></section>
${firstCall(service, entryPoints())}</div>
${hubMetrics(hub)}<h2>Services</h2>${
          services.length === 0
            ? emptyState('No services yet.')
            : html`<ul class="list columns">${services.map((each) => serviceCard(each))}</ul>`
        }<p><a href="/services">All services</a> ·
<a href="/services?type=external">External APIs</a></p>${proofs}${assistants(entryPoints())}`,
      }
    },
  })
}

/** Call of the cheapest endpoint of the suggested service. */
function firstCall(
  service: Awaited<ReturnType<typeof findService>>,
  entryPoints: EntryPoints,
): Html | undefined {
  const { listing: chosen, endpoints = [] } = service ?? {}
  const [endpoint] = endpoints.toSorted((a, b) => Number(a.price - b.price))
  if (!chosen || !endpoint) return undefined
  const { method, path, inputSchema, sample } = endpoint
  const input = sample ?? exampleInput(inputSchema)
  return html`<section><h2>Your first call</h2>${serviceSnippets(
    { slug: chosen.slug, method, path, input },
    entryPoints,
  )}<p class="small">Or <a href="${tryPath(chosen.slug, endpoint)}">make this call in your
browser</a>${
    chosen.freeCallsPerMonth > 0 &&
    ` with ${formatCount(chosen.freeCallsPerMonth)} free calls per month`
  }.</p></section>`
}

const hubMetrics = (known: HubFigures): Html =>
  metrics({
    Services: formatCount(known.services),
    'External APIs': formatCount(known.listings),
    'Calls delivered, 30 days': formatCount(known.calls),
    'Median latency, 30 days': known.latency === null ? '–' : formatDuration(known.latency),
    'Calls refunded, 30 days': formatCount(known.refunded),
  })

const proofs = html`<h2>Why you can rely on it</h2><div class="columns"><section>
<h3>Failed calls are free</h3><p>The price is reserved before a call and released if it fails. You
pay for responses, not for attempts.</p></section><section><h3>Every call has a signed receipt</h3>
<p>It names price, request and response, and is checked offline with the
<a href="/.well-known/jwks.json">public keys</a>.</p></section><section>
<h3>Uptime is measured, not promised</h3><p>Uptime and latency come from real calls. See
<a href="/status">all services by day</a>.</p></section></div>`

/** Commands that add the hub to assistants, and links for programs. */
const assistants = ({ baseUrl, mcpUrl, command }: EntryPoints): Html =>
  html`<h2>Add it to your assistant</h2><p>Creates a wallet and a key, and adds the hub to the AI
assistants on your computer over MCP. Or add <code>${mcpUrl}</code> with your key as bearer token.
</p>${copyableText(
    `${command} register \\\n  --hub ${baseUrl}\n${command} install`,
    'Copy: commands for assistants',
  )}<p>Programs start with the <a href="/openapi.json">OpenAPI document</a>, agents with
<a href="/llms.txt">llms.txt</a>.</p>`
