import { EVENTS, TEST_EVENT } from '../../../core/webhooks/events.ts'
import { type Html, html } from '../html.ts'
import { cardTable } from '../table.ts'
import type { Site } from './agent-documents.ts'
import { code, guidePage, localServerHint } from './docs-page.ts'

/** `/docs/agents`: from registration to a paid call. */
export const agentsGuide = ({ baseUrl, proxyUrl, mcpUrl, command }: Site) =>
  guidePage(
    'Guide for agents',
    'For agents',
    html`<p class="lead">Make a paid call in five steps. No human is needed, and failed calls are
not charged.</p>
<h2>1. Get a key</h2><p>Sign a message with a wallet to get a key. The command line creates a wallet
if you have none, and stores the key. The examples below expect the key in
<code>HUB_API_KEY</code>:</p>${code(`${command} register --hub ${baseUrl} --show-key
export HUB_API_KEY=ahk_…   # the key shown`)}<p>Without the command line:
<code>GET ${baseUrl}/v1/register/challenge</code>, sign <code>message</code> with
<code>personal_sign</code>, and send the signature to <code>POST ${baseUrl}/v1/register</code>.
People can also <a href="/sign-in">sign in by email or wallet</a> and create keys in their
account.</p>
<h2>2. Find an API</h2>${code(`curl ${baseUrl}/v1/search -H "Authorization: Bearer $HUB_API_KEY" \\
  -H 'Content-Type: application/json' -d '{"query":"sentiment of reviews"}'`)}<p>Each result shows
why it matched, its price and its track record. In a browser, use the <a
href="/services">catalog</a>.</p>
<h2>3. Check the price</h2><p>Add <code>?dry_run</code> to any call to get its price and payment
source without charge. <code>X-Max-Price</code>, in microdollars, refuses more expensive calls.
<code>POST ${baseUrl}/v1/quotes</code> guarantees a price for five minutes.</p>
<h2>4. Call</h2>${code(`curl -i ${proxyUrl}/analysis/sentiment \\
  -H "Authorization: Bearer $HUB_API_KEY" \\
  -H 'Content-Type: application/json' -H 'Idempotency-Key: review-17' \\
  -d '{"text":"Lovely staff, noisy room."}'`)}<p>This month’s free calls pay first, then credits,
then x402. If none of them can pay, the 402 response says how. With an <code>Idempotency-Key</code>,
repeated requests are charged once.</p>
<h2>5. Pay</h2><p>Buy credits with USDC on Base, with a single signature:
<code>${command} topup
5</code>, or the <a href="/topup">top-up page</a> for a browser wallet. Without a key, sign the
offer in the 402 response and send it as <code>PAYMENT-SIGNATURE</code> (x402), or as
<code>Authorization: Payment</code> (MPP). For a metered price, the offer has the scheme
<code>upto</code>: the payment authorizes the maximum, and the usage is taken. A wallet that has
credits signs the challenge of <code>sign-in-with-x</code> instead and sends it as
<code>SIGN-IN-WITH-X</code>: its oldest main key pays, at most the price that the challenge
names.</p>
<h2>After the call</h2><p><code>X-Charged-Microdollars</code> is the cost; 1,000,000 = 1 USD.
<code>X-Receipt</code> is signed by the hub and can be verified at any time. Failed calls are
refunded immediately; see <a href="/docs/problems">error codes</a>.</p>
<h2>A key for each agent</h2><p>A main key can create sub-keys that spend its credits within limits:
per call, per day, in total, by service or until a date. <a href="/account/keys">Your account</a>
shows them as a tree; <code>POST ${baseUrl}/v1/keys</code> creates one.</p>
<h2 id="signatures">Say who you are</h2><p>Agents that sign their requests by Web Bot Auth (RFC
9421, tag <code>web-bot-auth</code>) are known by the host of their key directory: the response has
it as <code>X-Agent</code>, and so has the record of the call. Owners of pages may have prices for
such agents, or sell to no others. Sign each request anew, with a nonce, <code>@authority</code> and
<code>Signature-Agent</code>. A request whose signature cannot be verified is served as one without,
and <code>X-Agent-Problem</code> says why.</p>
<h2>MCP</h2><p>To use the hub as tools of an assistant, connect to <code>${mcpUrl}</code> with your
key as Bearer token. <code>${command} install</code> configures the assistants on this
machine.</p>`,
  )

/** `/docs/providers`: three ways to sell, and payouts. */
export const providersGuide = ({ baseUrl, proxyUrl, command }: Site, sandbox: boolean) =>
  guidePage(
    'Guide for providers',
    'For providers',
    html`<p class="lead">You set the price per request. The hub collects payments, validates input,
refunds failed calls, and pays you in USDC.</p>
<h2>Sell an HTTP API</h2><p>No code is needed. <a href="/provider/services">Import its OpenAPI
document</a> or enter its endpoints, set prices, make a test call, and activate it. With
REST:</p>${code(
      `curl ${baseUrl}/v1/provider/services/import -H "Authorization: Bearer $HUB_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"slug":"acme-weather","url":"https://api.acme.com/openapi.json","price_microdollars":3000}'
curl ${baseUrl}/v1/provider/services/acme-weather/test \\
  -H "Authorization: Bearer $HUB_API_KEY" -H 'Content-Type: application/json' \\
  -d '{"endpoint":"GET /cities/{city}/weather","input":{"city":"Oslo"}}'
curl -X POST ${baseUrl}/v1/provider/services/acme-weather/activate \\
  -H "Authorization: Bearer $HUB_API_KEY"`,
    )}<p>An API goes on sale when a test call of each endpoint has passed. Buyers see the input of
that call as the sample: send no secrets. Activation with
<code>{"waive_tests":true}</code> does without; buyers then see which endpoints are untested.</p>
<p>Agents then call <code>${proxyUrl}/acme-weather/…</code>. Your server receives the request
with the credentials that you set, but not the identity of the payer. Callers are not charged for
error responses, or for responses that violate your declared schema.</p>${
      sandbox && localServerHint('/')
    }
<h2>Sell the pages of a site</h2><p><a href="/provider/domains">Add the domain</a>, prove that it is
yours (a file, a meta tag or a DNS record), and set prices by path. Readers get the title, text and
headings. The hub respects robots.txt and your opt-out.</p>
<h2>Write a plugin</h2><p>A service is one TypeScript file with a price, and runs in the hub.
<code>${command} plugin new NAME</code> creates one, with a test that makes a paid call.</p>
<h2>Prices</h2><p>Price decreases apply immediately, increases after a notice period. Every price
has a version, which is named in every receipt.</p>
<h2>Commission and payouts</h2><p>The hub keeps a commission on each paid call (10% unless agreed
otherwise; see <code>GET ${baseUrl}/v1/provider/commission</code>). The rest is yours. Commission is
rounded down at each call; the fractions add up and are due on the sum of the sales of a service.
Set a <a href="/provider/payouts">payout address</a>, confirmed by a signature of that wallet.
A change also needs a signature of the current wallet and takes effect after a waiting period, which
protects you against theft; an administrator can help if that wallet is lost. Earnings above the
minimum payout are sent once a day, up to a maximum per day; the rest follows on the next days. A
first payout, and one after a correction, waits for some days, and a large one for an approval: the
page and <code>waits_for</code> and <code>waits_until</code> of
<code>GET ${baseUrl}/v1/provider/balance</code> say why and until when. Each payout has
a statement of journal entries that sum to the transfer, exact to the microdollar.</p>
<h2>Statistics</h2><p><a href="/provider/statistics">Statistics</a> show calls, success rate,
latency, refunds and earnings by day, service, endpoint and outcome. Callers are pseudonymous. A <a
href="/account/webhooks">webhook</a> can notify you of each payout.</p>
<h2>Provider keys</h2><p><code>POST ${baseUrl}/v1/provider/keys</code> creates a key for your own
programs that manages your services and cannot spend.</p>`,
  )

/** `/docs/finance`: how the ledger is read, corrected, closed and verified. */
export const financeGuide = ({ baseUrl }: Site) =>
  guidePage(
    'Guide for finance',
    'For finance',
    html`<p class="lead">Every movement of money is a balanced, permanent entry in the journal.
Every figure is derived from the journal, and every entry links to its call.</p>
${roles(baseUrl)}
<h2>Ledger</h2>
<p>The <a href="/finance/trial-balance">trial balance</a> shows every account balance at the end of
any day, by value date; debits equal credits for each asset. Numerous accounts, such as those of
keys, are grouped in one line that links to each of them. Each account links to its statement:
opening balance, movements with running balance, and closing balance, also as CSV. Assets and
expenses are debit balances; liabilities, income and equity are credit balances. In REST, amounts
are whole units of the asset (USDC: microdollars), and credits are positive.</p>
${code(`curl '${baseUrl}/v1/finance/trial-balance?day=2026-11-30' \\
  -H "Authorization: Bearer $HUB_API_KEY"`)}
<h2>Financial statements</h2>
<p><a href="/finance/trends">Trends</a> charts sales, commission, gas, payouts and liabilities
beside cash, with profit and loss by month. <a href="/finance/reports">Reports</a> shows the income
statement, balance sheet and cash flow of a month, quarter or year beside another one; in REST,
<code>/v1/finance/income-statement</code>, <code>balance-sheet</code> and <code>cash-flow</code>.
They are computed from the trial balance. The net income of each year is shown as
<code>equity:retained-earnings:YEAR</code>. One USDC counts as one USD, and is cash.
<a href="/finance/conversion">ETH and gas</a> explains the accounts between
ETH and USDC. Before you close a month, enter the price of ETH at its end there, with its source.
Receipts, statements and credit notes are under <a href="/finance/documents">Documents</a>.</p>
<h2>From a posting to its call, and back</h2>
<p>The <a href="/finance/journal">journal</a> lists entries by event and day. Each entry links to
everything known under its id: the hold, charge and refund of a call, its endpoint, its payer and
the price version. You can also enter the call id of a receipt or a customer inquiry.</p>
${corrections()}
<h2>Reconciliation</h2>
<p>Every minute, the hub reads the USDC transfers of its wallets from the blockchain and matches
them with journal entries. An unexplained difference becomes an <a
href="/finance/exceptions">exception</a> with a reason. Resolve it by posting an entry (surplus,
shortfall, or credits of a key), or by linking exceptions that cancel it out. For <a
href="/finance/transfers">transfers</a> between platform wallets, enter the transaction hash; the
hub reads the amount from the blockchain and posts it. Pending <a
href="/finance/payments">payments</a> resolve automatically; overdue ones are marked. Payments to
sellers can be paused in all processes at once. <a
href="/finance/payouts">Payouts</a> lists those that wait by a rule, and approves large ones.</p>
${monthEnd(baseUrl)}
<h2>Audit</h2>
<p>Every privileged action adds one line to the <a href="/finance/audit">audit log</a>, in the same
database transaction: actor, action, before and after, reason and network. The database rejects
changes to existing lines. Each line contains the hash of the previous one, so a copy of the last
hash, stored elsewhere, proves the whole log. The journal has its own seals: <code>npm run ledger --
verify</code> recomputes every balance, and <code>verify --file export.jsonl</code> does so without
a database.</p>
<p>All of this is also available through REST: see <a href="/docs/reference/finance">finance</a> and
<a href="/docs/reference/admin">admin</a> in the API reference.</p>`,
  )

const monthEnd = (baseUrl: string): Html => html`<h2>Month end</h2>
<ol><li>Check that there are no open exceptions and no overdue payments (<a
href="/finance">overview</a>).</li>
<li>Check that the trial balance of the last day is zero for each asset.</li>
<li><a href="/finance/exports">Export</a> the month and store the file with its SHA-256. Repeated
exports are byte-identical: CSV, JSON lines, hledger, ledger, beancount.</li>
<li><a href="/finance/periods">Close the month</a>: one person proposes it, another one confirms. A
checklist shows what is missing. A closed month permanently rejects new entries. Later corrections
are dated when posted and name the day that they belong to.</li>
<li>Store the signed checkpoints of the month end where the administrators of the hub and its
database cannot change them, such as with the auditor. They prove later that no entry, closed month
or line of the audit log was changed since, even with all hashes recomputed:</li></ol>
${code(`curl '${baseUrl}/v1/ledger/checkpoints?day=2026-11-30' > checkpoints-2026-11
npm run ledger -- verify --checkpoints checkpoints-2026-11 --key BASE64`)}
<p>The key is the hub’s public key (<code>/.well-known/jwks.json</code>, <code>x</code> in base64),
stored at the first audit. JSON lines exports contain the checkpoints of their range. Once a
quarter, run this verification with the oldest stored file, also against a restored backup.</p>`

const roles = (baseUrl: string): Html => html`<h2>Roles</h2>
<p>An <strong>auditor</strong> can read and export the ledger and the audit log.
<strong>Finance</strong> can also correct the ledger. An <strong>administrator</strong> can also
grant roles, approve and suspend services, set commission and freeze keys. The wallets in
<code>HUB_ADMIN_WALLETS</code> are administrators (in a sandbox: the key printed by
<code>npm start</code>). They can grant a role to anyone who has <a href="/sign-in">signed in</a>
before, by email address or wallet:</p>
${code(`curl ${baseUrl}/v1/admin/roles -H "Authorization: Bearer $ADMIN_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"name":"you@example.com","role":"finance","reason":"joins the team"}'`)}
<p>Changes by staff need a sign-in of the last ten minutes
(<code>fresh_authentication_required</code>): you sign in again and return to your form. With real
money the same applies to a key: register its wallet again and use the new key.</p>
<p>The role takes effect after <code>HUB_ROLE_WAIT_HOURS</code> (default: 24; in a sandbox
immediately), or when a second administrator <a href="/admin/roles">confirms</a> it. Revoking a
role takes effect immediately; the grant remains on record. The last administrator cannot be
revoked. The <a href="/admin/access">access review</a> shows who holds which role, its last use and
its next review; <a href="/admin/retention">retention</a> shows which data is stored how long, and
whether the jobs follow it.</p>`

const corrections = (): Html => html`<h2>Corrections</h2>
<p>Entries never change: an error is corrected by another entry. Refund a call on its page, in full
or in part, once: the provider returns its share and the hub its commission. For anything else, post
an <a href="/finance/adjustments">adjustment</a>: debit, credit, amount, reason, and a value date if
it belongs to another day.</p>
<h2>Two people</h2>
<p>A second person must confirm every adjustment in favor of an agent or provider, and every act
about money once your acts of a UTC day exceed <code>HUB_ADJUST_ALONE</code> (default: 100 USD):
adjustments, refunds, exceptions and transfers together. Confirm or decline proposals under <a
href="/finance/adjustments">adjustments</a>. An account and all wallets that were ever linked to it
count as one person. The second person must have held their role before the proposal, and not from
the proposer. Nobody decides about keys, calls or providers of their own.</p>`

/** Complete Node module; a test runs it as published on the page. */
const VERIFY_CODE = `import { createHmac, timingSafeEqual } from 'node:crypto'

/** headers: lowercase names; body: the exact text received, before any parsing */
export function isFromHub(secret, headers, body) {
  const id = headers['webhook-id'] ?? ''
  const time = headers['webhook-timestamp'] ?? ''
  const signatures = (headers['webhook-signature'] ?? '').split(' ')
  if (!(Math.abs(Date.now() / 1000 - Number(time)) < 300)) return false // too old
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const mac = createHmac('sha256', key).update(\`\${id}.\${time}.\${body}\`).digest('base64')
  const expected = Buffer.from(\`v1,\${mac}\`)
  return signatures.some((each) => {
    const signature = Buffer.from(each)
    return signature.length === expected.length && timingSafeEqual(signature, expected)
  })
}`

const EXAMPLE_REQUEST = `POST /hub-events
content-type: application/json
webhook-id: evt_…
webhook-timestamp: 1795330800
webhook-signature: v1,K5oZ…=

{"type":"${TEST_EVENT}","timestamp":"2026-11-22T07:00:00.000Z","data":{…}}`

/** `/docs/webhooks`: format, signature and retries of events. */
export const webhooksGuide = ({ sandbox }: { readonly sandbox: boolean }) =>
  guidePage(
    'Guide for webhooks',
    'Webhooks',
    html`<p class="lead">Receive events about your keys, money and listings on your own server. Add
a webhook in <a href="/account/webhooks">your account</a> or through <a
href="/docs/reference/webhooks">REST</a>.</p>
<h2>Request format</h2>${code(EXAMPLE_REQUEST)}${cardTable(
      'Events',
      [
        { head: 'Type', cell: ([type]) => html`<code>${type}</code>` },
        { head: 'Meaning', cell: ([, meaning]) => meaning },
      ],
      Object.entries(EVENTS),
    )}
<h2>Verify the signature</h2><p>Anyone can send requests to your URL, so accept only signed ones.
Events follow <a href="https://www.standardwebhooks.com">Standard Webhooks</a>: verify them with one
of its libraries and the secret shown when you added the webhook. In Node, without a
library:</p>${code(
      VERIFY_CODE,
    )}<p>After a secret is replaced, both secrets sign for a day: accept the event if one of the
signatures matches.</p>
<h2>Respond</h2><p>Respond with any 2xx status within ten seconds. Otherwise the hub retries for a
day: after 5 seconds, 20, 80 and so on, at most six hours apart. The same event can therefore arrive
more than once, with the same <code>webhook-id</code>, and events can arrive out of order. Status
<code>410</code> disables the webhook; so do three days without a single
success.</p>${sandbox && localServerHint('/hub-events')}`,
  )
