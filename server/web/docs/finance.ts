import { type Html, html } from '../html.ts'
import type { Site } from './agents.ts'
import { code, docsPage } from './html.ts'

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
