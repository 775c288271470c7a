import type { Pool } from 'pg'
import { z } from 'zod'
import { type HubFigures, hubFigures } from '../../../core/catalog/services/figures.ts'
import { listServices } from '../../../core/catalog/services/published-services.ts'
import { sparing } from '../../sparing.ts'
import { serviceCard } from '../cards.ts'
import { count, milliseconds } from '../format.ts'
import { type Html, html } from '../html.ts'
import { empty } from '../notices.ts'
import { type AnyPage, page } from '../page.ts'

const SHOWN = 6

export interface HomePorts {
  readonly pool: Pool
  readonly baseUrl: () => string
  readonly mcpUrl: () => string
}

/** `/`: what this is, on one screen. */
export const homePage = ({ pool, baseUrl, mcpUrl }: HomePorts): AnyPage => {
  const known = sparing(() => hubFigures(pool))
  return page({
    path: '/',
    query: z.object({}),
    show: async () => {
      const [hub, services] = await Promise.all([
        known(),
        listServices(pool, { limit: SHOWN, after: undefined }),
      ])
      return {
        title: 'APIs for agents, paid by the request',
        description:
          'Software agents find APIs here, pay for them per request in USDC, and call them.',
        main: html`<h1>APIs for agents, paid by the request</h1>
<p class="lead">One key, or one signature, for every API here. A call is paid from free units, from
credits, or on the spot by x402; what fails is not charged.</p>
<form class="find" action="/search" role="search">
<input type="search" name="q" aria-label="What the API should do"
placeholder="What should the API do?"><button type="submit">Search</button></form>
${figures(hub)}${start(baseUrl(), mcpUrl())}<h2>Services of this hub</h2>${
          services.length === 0
            ? empty('Nothing is on sale here yet.')
            : html`<ul class="list columns">${services.map((each) => serviceCard(each))}</ul>`
        }<p><a href="/services">All services</a> ·
<a href="/search?type=external">APIs of others</a></p>`,
      }
    },
  })
}

const figures = (known: HubFigures): Html =>
  html`<dl class="figures"><div><dt>Services here</dt><dd>${count(known.services)}</dd></div>
<div><dt>APIs of others</dt><dd>${count(known.listings)}</dd></div>
<div><dt>Calls delivered, 30 days</dt><dd>${count(known.calls)}</dd></div>
<div><dt>Average latency</dt><dd>${
    known.latency === null ? '–' : milliseconds(known.latency)
  }</dd></div><div><dt>Calls refunded, 30 days</dt><dd>${count(known.refunded)}</dd></div></dl>`

const start = (baseUrl: string, mcpUrl: string): Html =>
  html`<h2>Get started</h2><div class="columns"><section><h3>With an assistant</h3>
<p>Gives the hub to the assistants of your machine, over MCP.</p>
<pre tabindex="0"><code>npx agenthub register \\
  --hub ${baseUrl}
npx agenthub install</code></pre><p class="small muted">Or add <code>${mcpUrl}</code> with your key
as Bearer token.</p></section><section><h3>From the command line</h3>
<p>A wallet is made for you, and gets a key at once.</p>
<pre tabindex="0"><code>npx agenthub register \\
  --hub ${baseUrl}
npx agenthub search sentiment</code></pre></section><section><h3>From code</h3>
<p>Everything is REST, described by <a href="/openapi.json">OpenAPI</a>.</p>
<pre tabindex="0"><code>curl ${baseUrl}/v1/services</code></pre></section></div>
<p>People <a href="/account">sign in by mail</a>: they make keys for their agents, give each its
limits, top them up, and see what was spent. Whoever has an API <a href="/docs/providers">sells it
here</a> at a price of their own.</p>`
