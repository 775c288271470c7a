import { EVENTS, TEST_EVENT } from '../../../core/webhooks/events.ts'
import { type Html, html } from '../html.ts'
import { cardTable } from '../table.ts'
import type { Site } from './agent-documents.ts'
import { code, docsPage, localServerHint } from './docs-page.ts'

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
that breaks the schema you declared, costs its caller nothing.</p>${sandbox && localServerHint('/')}
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

/** `/docs/finance`: how the books are read, corrected, closed and proven. */
export const financeGuide = ({ baseUrl }: Site) =>
  docsPage(
    'Guide for finance',
    'For finance',
    html`<p class="lead">Every movement of money is an entry of the journal, balanced and never
changed. Every figure follows from it, and every entry leads to its call.</p>
${roles(baseUrl)}
<h2>The books</h2>
<p>The <a href="/finance/trial-balance">trial balance</a> shows what every account held at the end
of any day, by value date; debits and credits are equal for each asset. Accounts of which there are
many, such as those of keys, are one line that leads to each of them. An account leads to its
statement: opening, movements, what was left after each, closing; as CSV too. Assets and expenses
are debits, liabilities, income and equity are credits. By REST, amounts are whole units of the
asset (USDC: microdollars), credit-positive.</p>
${code(`curl '${baseUrl}/v1/finance/trial-balance?day=2026-11-30' \\
  -H "Authorization: Bearer $HUB_API_KEY"`)}
<h2>From a posting to its call, and back</h2>
<p>The <a href="/finance/journal">journal</a> lists entries by event and day. Each leads to all that
is known under its id: the hold, the charge and the refund of a call, what it was for, who paid, and
the price version that counted. The id of a call, from a receipt or a complaint, leads there
too.</p>
${corrections()}
<h2>Chain and books</h2>
<p>Every minute the hub reads the USDC transfers of its wallets and matches each with the entry that
booked it. What nothing explains is an <a href="/finance/exceptions">exception</a>, with a reason.
It is booked (as a surplus, a shortfall, or credits of a key), or explained by others that it
cancels out; never absorbed. What you move between the wallets of the house is a <a
href="/finance/transfers">transfer</a>: you name the transaction, see what the chain says of it, and
book that. <a href="/finance/payments">Payments</a> that are not final yet resolve
themselves by the evidence of the chain; one that is long overdue says so. Payments to sellers can
be paused on every process at once.</p>
<h2>The end of a month</h2>
<ol><li>See that no exception and no overdue payment is open (<a href="/finance">overview</a>).</li>
<li>See that the trial balance of its last day is zero for each asset.</li>
<li><a href="/finance/exports">Export</a> the month, and keep the file with its sha256. The same
export has the same bytes for ever: CSV, JSON lines, hledger, ledger, beancount.</li>
<li><a href="/finance/periods">Close the month</a>. It takes nothing more, for good; what comes
later is dated when it is booked, and says to which day it belongs.</li></ol>
<h2>Audit</h2>
<p>Every privileged act leaves one line in the <a href="/finance/audit">audit log</a>, in the
transaction of the act: who, what, before and after, why, from which network. The database refuses
to change a line; each has the hash of the one before it, so whoever keeps the last hash elsewhere
can prove all of them. The journal has seals of its own: <code>npm run ledger -- verify</code>
rebuilds every balance, and <code>verify --file export.jsonl</code> does so without any
database.</p>
<p>Everything here is also REST: see <a href="/docs/reference/finance">finance</a> and
<a href="/docs/reference/admin">admin</a> in the reference.</p>`,
  )

const roles = (baseUrl: string): Html => html`<h2>Who may do what</h2>
<p><strong>Finance</strong> sees the books and corrects them; an <strong>administrator</strong> may
do that, and gives roles, approves and stops services, sets commission, freezes keys. The wallets of
<code>HUB_ADMIN_WALLETS</code> are administrators from the beginning (in a sandbox: the key that
<code>npm start</code> prints). They give a role to anybody who has <a href="/sign-in">signed in</a>
before, by the address of mail, or by wallet:</p>
${code(`curl ${baseUrl}/v1/admin/roles -H "Authorization: Bearer $ADMIN_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"name":"you@example.com","role":"finance","reason":"joins the team"}'`)}
<p>From then on <a href="/finance">the pages of finance</a> are open to them. A role is taken away
at once; that it was held stays to be seen. An administrator always remains.</p>`

const corrections = (): Html => html`<h2>Corrections</h2>
<p>Nothing is ever changed: what is wrong is corrected by another entry. A call is refunded from its
page, in full or in part, once: the provider gives back its share, the hub its commission. Anything
else is an <a href="/finance/adjustments">adjustment</a>: debit, credit, amount, reason, and a value
date if it belongs to another day. Up to <code>HUB_ADJUST_ALONE</code> (100 dollars unless set
otherwise) one person books it; above, another person confirms it, and an account and the wallets
that are linked to it are one person.</p>`

/** Runs as it stands, in Node: a test takes it from the page. */
const VERIFY_CODE = `import { createHmac, timingSafeEqual } from 'node:crypto'

/** headers: in lower case; body: the text exactly as it came, before any parsing */
export function isFromHub(secret, headers, body) {
  const id = headers['webhook-id'] ?? ''
  const time = headers['webhook-timestamp'] ?? ''
  const signatures = (headers['webhook-signature'] ?? '').split(' ')
  if (!(Math.abs(Date.now() / 1000 - Number(time)) < 300)) return false // it is an old one
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const mac = createHmac('sha256', key).update(\`\${id}.\${time}.\${body}\`).digest('base64')
  const due = Buffer.from(\`v1,\${mac}\`)
  return signatures.some((each) => {
    const sent = Buffer.from(each)
    return sent.length === due.length && timingSafeEqual(sent, due)
  })
}`

const EXAMPLE_REQUEST = `POST /hub-events
content-type: application/json
webhook-id: evt_…
webhook-timestamp: 1795330800
webhook-signature: v1,K5oZ…=

{"type":"${TEST_EVENT}","timestamp":"2026-11-22T07:00:00.000Z","data":{…}}`

/** `/docs/webhooks`: what a webhook is sent, and how it is checked. */
export const webhooksGuide = ({ sandbox }: { readonly sandbox: boolean }) =>
  docsPage(
    'Guide for webhooks',
    'Webhooks',
    html`<p class="lead">What happens to your keys, money and listings is told to your own server,
at once. <a href="/account/webhooks">Your account</a> adds a webhook, or <a
href="/docs/reference/webhooks">REST</a>.</p>
<h2>What comes</h2>${code(EXAMPLE_REQUEST)}${cardTable(
      'Events',
      [
        { head: 'Type', cell: ([type]) => html`<code>${type}</code>` },
        { head: 'What happened', cell: ([, meaning]) => meaning },
      ],
      Object.entries(EVENTS),
    )}
<h2>Check the signature</h2><p>Anybody can send to your address: take only what is signed. Messages
follow <a href="https://www.standardwebhooks.com">Standard Webhooks</a>, so that its libraries check
them, with the secret that was shown when the webhook was added. In Node, without any:</p>${code(
      VERIFY_CODE,
    )}<p>While a new secret replaces an old one, both sign for a day: one of the signatures has to
fit.</p>
<h2>Answer</h2><p>Any 2xx within ten seconds takes it. Whatever else comes, it is sent again: after
5 seconds, 20, 80 and so on, up to six hours apart, for a day. So the same event may come twice,
with the same <code>webhook-id</code>, and a later one before it. <code>410</code> turns the webhook
off; so do three days without a single success.</p>${sandbox && localServerHint('/hub-events')}`,
  )
