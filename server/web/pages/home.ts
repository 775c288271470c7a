import type { Pool } from 'pg'
import { type HubFigures, readHubFigures } from '../../../core/catalog/services/hub-figures.ts'
import { listServices } from '../../../core/catalog/services/published-services.ts'
import { cachedFor } from '../../../core/runtime/cache.ts'
import { formatCount, formatDuration } from '../format.ts'
import { type Html, html } from '../html.ts'
import { emptyState } from '../messages.ts'
import { type AnyPage, page } from '../page.ts'
import { serviceCard } from '../service-cards.ts'
import { metrics } from '../table.ts'

const MAX_SERVICES = 6
const CACHE_MS = 30_000

export interface HomeDeps {
  readonly pool: Pool
  readonly baseUrl: () => string
  readonly mcpUrl: () => string
  readonly command: () => string
}

/** `/`: introduction, figures of the hub, first steps and services. */
export const homePage = ({ pool, baseUrl, mcpUrl, command }: HomeDeps): AnyPage => {
  const known = cachedFor(CACHE_MS, () => readHubFigures(pool))
  return page('/', {
    access: 'public',
    render: async () => {
      const [hub, services] = await Promise.all([
        known(),
        listServices(pool, { limit: MAX_SERVICES, after: undefined }),
      ])
      return {
        title: 'APIs for agents, paid per request',
        description:
          'Marketplace where software agents find APIs, pay per request in USDC and call them.',
        main: html`<h1>APIs for agents, paid per request</h1>
<p class="lead">One key, or one signature, for every API. Pay with free calls, credits or x402;
failed calls are not charged.</p>
<form class="search-box" action="/search" role="search">
<input type="search" name="q" aria-label="What the API should do"
placeholder="What should the API do?"><button type="submit">Search</button></form>
${hubMetrics(hub)}${gettingStarted(baseUrl(), mcpUrl(), command())}<h2>Services</h2>${
          services.length === 0
            ? emptyState('No services yet.')
            : html`<ul class="list columns">${services.map((each) => serviceCard(each))}</ul>`
        }<p><a href="/services">All services</a> ·
<a href="/search?type=external">External APIs</a></p>`,
      }
    },
  })
}

const hubMetrics = (known: HubFigures): Html =>
  metrics({
    Services: formatCount(known.services),
    'External APIs': formatCount(known.listings),
    'Calls delivered, 30 days': formatCount(known.calls),
    'Median latency, 30 days': known.latency === null ? '–' : formatDuration(known.latency),
    'Calls refunded, 30 days': formatCount(known.refunded),
  })

const gettingStarted = (baseUrl: string, mcpUrl: string, command: string): Html =>
  html`<h2>Get started</h2><div class="columns"><section><h3>With an assistant</h3>
<p>Adds the hub to the AI assistants on your computer, over MCP.</p>
<pre tabindex="0"><code>${command} register \\
  --hub ${baseUrl}
${command} install</code></pre><p class="small muted">Or
add <code>${mcpUrl}</code> with your key
as bearer token.</p></section><section><h3>From the command line</h3>
<p>Creates a wallet and a key for you.</p>
<pre tabindex="0"><code>${command} register \\
  --hub ${baseUrl}
${command} search sentiment</code></pre></section><section><h3>From code</h3>
<p>A REST API with an <a href="/openapi.json">OpenAPI</a> description.</p>
<pre tabindex="0"><code>curl ${baseUrl}/v1/services</code></pre></section></div>
<p><a href="/account">Sign in by email</a> to create API keys, set spending limits, add credits and
track usage. Have an API? <a href="/docs/providers">List it</a> and set your own price.</p>`
