import { html } from '../html.ts'
import type { Site } from './agents.ts'
import { code, docsPage, onOwnMachine } from './html.ts'

/** `/docs/agents`: from nothing to a paid call. */
export const agentsGuide = ({ baseUrl, proxyUrl, mcpUrl }: Site) =>
  docsPage(
    'Guide for agents',
    'For agents',
    html`<p class="lead">From nothing to a paid call in five steps. Nothing needs a person, and
nothing is charged that fails.</p>
<h2>1. Get a key</h2><p>A wallet signs a message, and the key is there at once. The command line
makes a wallet, if there is none, and keeps the key. The calls below expect it in
<code>HUB_API_KEY</code>:</p>${code(`npx agenthub register --hub ${baseUrl} --show-key
export HUB_API_KEY=ahk_…   # the key that it shows`)}<p>Without it:
<code>GET ${baseUrl}/v1/register/challenge</code>, sign <code>message</code> by
<code>personal_sign</code>, send it to <code>POST ${baseUrl}/v1/register</code>. Whoever has a
person behind it can <a href="/sign-in">sign in by mail</a> and make keys in the account.</p>
<h2>2. Find an API</h2>${code(`curl ${baseUrl}/v1/search -H "Authorization: Bearer $HUB_API_KEY" \\
  -H 'Content-Type: application/json' -d '{"query":"sentiment of reviews"}'`)}<p>Each hit says why
it was found, what it costs, and how it has done. People use the <a href="/search">search</a>.</p>
<h2>3. Know the price</h2><p>Add <code>?dry_run</code> to any call: it tells the price and who would
pay, and nothing moves. <code>X-Max-Price</code>, in microdollars, refuses what is dearer;
<code>POST ${baseUrl}/v1/quotes</code> holds a price for five minutes.</p>
<h2>4. Call</h2>${code(`curl -i ${proxyUrl}/analysis/sentiment \\
  -H "Authorization: Bearer $HUB_API_KEY" \\
  -H 'Content-Type: application/json' -H 'Idempotency-Key: review-17' \\
  -d '{"text":"Lovely staff, noisy room."}'`)}<p>This month’s free calls pay first, then credits,
then x402 on the spot; if none can, the 402 says how to pay. With an <code>Idempotency-Key</code>
the same request may be sent again: it is charged once.</p>
<h2>5. Pay</h2><p>Credits are bought with USDC on Base, by one signature: <code>npx agenthub topup
5</code>, or <a href="/topup">the page of the top-up</a> for a wallet in a browser. Without a key,
sign the offer of the 402 and send it as <code>PAYMENT-SIGNATURE</code>.</p>
<h2>Afterwards</h2><p><code>X-Charged-Microdollars</code> says what it cost; 1,000,000 are one
dollar. <code>X-Receipt</code> is signed by the hub, and can be checked for ever. What failed is
given back at once: see <a href="/docs/problems">the codes</a>.</p>
<h2>A key for each agent</h2><p>A key makes keys below it that spend its credits, each within
limits: for a call, a day, in all, for some services, until a date. <a href="/account/keys">The
account</a> shows them as a tree; <code>POST ${baseUrl}/v1/keys</code> makes one.</p>
<h2>By MCP</h2><p>The hub as tools of an assistant, with the key as Bearer token:
<code>${mcpUrl}</code>. <code>npx agenthub install</code> writes it into the assistants of this
machine.</p>`,
  )

/** `/docs/providers`: the three ways to sell, and what becomes of the money. */
export const providersGuide = ({ baseUrl, proxyUrl }: Site, sandbox: boolean) =>
  docsPage(
    'Guide for providers',
    'For providers',
    html`<p class="lead">You set the price of a request. The hub takes the money, checks the input,
refunds what failed, and pays you out in USDC.</p>
<h2>An HTTP API that you have</h2><p>Nothing has to be written. <a href="/provider/services">Import
its OpenAPI document</a> or name its endpoints, set prices, try a call, activate. By
REST:</p>${code(
      `curl ${baseUrl}/v1/provider/services/import -H "Authorization: Bearer $HUB_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"slug":"acme-weather","url":"https://api.acme.com/openapi.json","price_microdollars":3000}'
curl -X POST ${baseUrl}/v1/provider/services/acme-weather/activate \\
  -H "Authorization: Bearer $HUB_API_KEY"`,
    )}<p>Agents then call <code>${proxyUrl}/acme-weather/…</code>. Your server sees the request
with a secret header that you set, and never who pays. An answer of yours that is no success, or
that breaks the schema you declared, costs its caller nothing.</p>${sandbox && onOwnMachine('/')}
<h2>The pages of a site</h2><p><a href="/provider/domains">Add the domain</a>, show that it is yours
(a file, a meta tag or a DNS record), and set prices by path. Readers get title, text and headings,
clean. Robots.txt and your opt-out count.</p>
<h2>A program of your own</h2><p>A service is one TypeScript file with a price; it runs in the hub.
<code>npx agenthub plugin new NAME</code> begins one, with a test that makes a paid call.</p>
<h2>Prices</h2><p>A lower price counts at once, a higher one after a notice, so that nobody is
surprised. Every price keeps its version, and every receipt names it.</p>
<h2>Commission and payouts</h2><p>The hub keeps a commission of what was paid (10 % unless agreed
otherwise; <code>GET ${baseUrl}/v1/provider/commission</code>), rounded down, and the rest is yours.
Set a <a href="/provider/payouts">payout address</a>: the wallet itself signs for it, and a change
waits, so that nobody else can turn it round. Earnings are sent once a day from a minimum on. Each
payout has a statement whose lines are entries of the ledger, and add up to the transfer to the
microdollar.</p>
<h2>Figures</h2><p><a href="/provider/statistics">Statistics</a> tell calls, success, latency,
refunds and earnings by day, service, endpoint and outcome; callers are pseudonyms. A <a
href="/account/webhooks">webhook</a> tells you of each payout.</p>
<h2>Keys for your own programs</h2><p><code>POST ${baseUrl}/v1/provider/keys</code> makes a key that
manages what you sell and can spend nothing.</p>`,
  )
