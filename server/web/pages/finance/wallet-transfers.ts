import { z } from 'zod'
import { FAULTS, Fault } from '../../../../core/errors.ts'
import type { RefusalReason } from '../../../../core/finance/wallet-transfers.ts'
import type { AuditLineJson } from '../../../rest/admin/audit.ts'
import type { OutgoingJson } from '../../../rest/finance/outgoing.ts'
import type { ExceptionJson } from '../../../rest/finance/reconciliation.ts'
import type { WalletTransfersJson } from '../../../rest/finance/wallet-transfers.ts'
import type { WalletsJson } from '../../../rest/finance/wallets.ts'
import type { ListPage } from '../../../rest/paging.ts'
import { filterField, form, formFields } from '../../form.ts'
import { formatTime } from '../../format.ts'
import { type Html, type HtmlPart, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { cardTable, definitionList, pager, shortHash, timeAgo, withQuery } from '../../table.ts'
import { accountLink, entryPath, formatAmount, reason, reasonField } from './components.ts'
import { switchForm } from './payments.ts'

const PATH = '/finance/transfers'
const PAGE_SIZE = '30'
const MAX_EXCEPTIONS = '100'

type Request = PageRequest<{ readonly transaction: string; readonly cursor?: string | undefined }>

/** Page of one transaction. */
export const transferPath = (transaction: string): string => withQuery(PATH, { transaction })

/** `/finance/transfers`: wallet transfers, that is, transactions between platform wallets. */
export const transfersPage = (): AnyPage =>
  page(PATH, {
    query: z.object({
      transaction: z.string().trim().max(200).default(''),
      cursor: z.string().max(500).optional(),
    }),
    actions: {
      book: formAction({
        fields: z.object({ transaction: z.string().max(200), reason }),
        run: async ({ api }, body) => {
          const { booked } = await api<WalletTransfersJson>('POST /v1/finance/transfers', { body })
          const done = booked ? 'booked' : 'proposed'
          return { to: withQuery(PATH, { transaction: body.transaction, done }) }
        },
      }),
    },
    notices: {
      booked: 'Transfer posted with the amount from the blockchain.',
      proposed: 'Transfer proposed: it exceeds your daily limit, so a second person must confirm.',
    },
    render: async (request) => {
      const { api, query } = request
      const [wallets, outgoing, open, past, lookup] = await Promise.all([
        api<WalletsJson>('GET /v1/finance/wallets'),
        api<OutgoingJson>('GET /v1/finance/outgoing'),
        api<ListPage<ExceptionJson>>('GET /v1/finance/exceptions', {
          query: { limit: MAX_EXCEPTIONS },
        }),
        api<ListPage<AuditLineJson>>('GET /v1/admin/audit', {
          query: { act: 'transfer.book', limit: PAGE_SIZE, cursor: query.cursor },
        }),
        query.transaction === '' ? undefined : lookUp(request),
      ])
      const posted = new Set(past.data.map(({ subject }) => subject))
      const unknown = open.data.filter(({ transaction }) => !posted.has(transaction ?? ''))
      return {
        title: 'Transfers',
        tabs: FINANCE_TABS,
        main: html`<h1>Transfers</h1><p class="lead">Transfers between platform wallets. Enter a
transaction hash; we read the amount from the chain.</p>${lookupForm(
          query.transaction,
        )}${lookup}${pausedBy(outgoing, unknown)}${unpostedPart(
          unknown.filter((each) => each.transaction !== query.transaction.toLowerCase()),
        )}<h2>Posted transfers</h2>${
          past.data.length === 0 ? emptyState('No transfers yet.') : transferTable(past.data)
        }${pager(PATH, { cursor: query.cursor }, past.next_cursor)}${walletFacts(wallets)}`,
      }
    },
  })

const lookupForm = (transaction: string): Html =>
  html`<form action="${PATH}" class="filters" role="search" aria-label="Transaction">${filterField(
    'transaction',
    'Transaction',
    html`<input id="filter-transaction" name="transaction" value="${transaction}" size="66"
placeholder="0x…" autocomplete="off" spellcheck="false" maxlength="200" required>`,
  )}<button type="submit">Look up</button></form>`

/** Movements of a transaction with the form that posts them, or why they cannot be posted. */
async function lookUp(request: Request): Promise<Html> {
  const params = { transaction: request.query.transaction }
  try {
    const found = await request.api<WalletTransfersJson>(
      'GET /v1/finance/transfers/{transaction}',
      { params },
    )
    return html`<section id="found">${
      found.booked ? html`<h2>Posted</h2>${movements(found)}` : postForm(request, found)
    }</section>`
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return rejection(error)
  }
}

const postForm = ({ submission, path }: Request, found: WalletTransfersJson): Html =>
  html`<h2>Not posted yet</h2>${movements(found)}${form({
    act: 'book',
    submit: 'Post transfer',
    to: withQuery(path, { transaction: found.transaction }),
    hidden: { transaction: found.transaction },
    fields: [reasonField(formFields('book', submission))],
  })}`

const movements = ({ transaction, block, time, booked, entries }: WalletTransfersJson): Html =>
  html`${definitionList({
    Transaction: shortHash(transaction),
    Block: String(block),
    'Value date': formatTime(time),
  })}${cardTable(
    'Movements',
    [
      {
        head: 'Amount',
        noWrap: true,
        cell: ({ amount, asset }) => html`<strong>${formatAmount(amount, asset)} ${asset}</strong>`,
      },
      { head: 'Debit', cell: ({ to }) => accountLink(to) },
      { head: 'Credit', cell: ({ from }) => accountLink(from) },
      {
        head: 'Entry',
        cell: ({ entry_id: id }) =>
          booked
            ? html`<a href="${entryPath(id)}"><code>${id}</code></a>`
            : html`<span class="muted">–</span>`,
      },
    ],
    entries,
  )}`

/** Advice by reason. */
const ADVICE: Readonly<Record<RefusalReason, HtmlPart>> = {
  not_mined: 'Check the hash. If the transaction was just sent, wait until it is in a block.',
  not_final: 'Reload this page in a minute.',
  not_ours: html`Only transfers between the addresses below can be posted here. Deposits from other
addresses are <a href="/finance/exceptions">exceptions</a>.`,
  opening: 'The opening balance of the wallet already includes it. Nothing to do.',
  accounted_for: html`Nothing to do. See <a href="/finance/exceptions?state=all">all
exceptions</a>, and the <a href="/finance/journal">journal</a>.`,
}

function rejection({ code, status, message, extras }: Fault): Html {
  const isForm = code === 'validation_failed'
  return html`<div class="box ${status === 503 ? 'fair' : 'bad'}" role="alert">
<p><strong>${isForm ? 'Invalid transaction hash.' : `${FAULTS[code][1]}.`}</strong> ${
    isForm ? 'Enter 0x followed by 64 hexadecimal digits.' : message
  } ${ADVICE[extras['why'] as RefusalReason]}</p><p class="small muted">Code
<a href="/docs/problems/${code}"><code>${code}</code></a></p></div>`
}

/**
 * Notice if reconciliation paused all payments because of an unexplained withdrawal. Only a person
 * can resume them: the key of the wallet may have leaked.
 * @param open exceptions whose transaction is not posted as a transfer
 */
function pausedBy(
  { paused, automatic, author, reason: why }: OutgoingJson,
  open: readonly ExceptionJson[],
): Html | undefined {
  if (!paused || automatic || author !== 'reconciliation') return undefined
  const isUnexplained = open.some((each) => each.wallet === 'spend' && each.amount_microdollars < 0)
  return html`<div class="box fair" id="paused"><p>Payments to sellers and providers are
paused: ${why}
${
  isUnexplained
    ? html`After resolving it, <a href="/finance/payments#switch">resume payments</a>.</p>`
    : html`</p><p><strong>The spend wallet now matches the ledger.</strong> Payments stay
paused until you resume them.</p>${switchForm(paused, formFields('switch', undefined))}`
}</div>`
}

/** Transactions between platform wallets that have no entry yet. */
function unpostedPart(open: readonly ExceptionJson[]): Html | undefined {
  const found = [...Map.groupBy(open, ({ transaction }) => transaction)].flatMap(([tx, all]) =>
    tx !== null && new Set(all.map(({ wallet }) => wallet)).size > 1 ? [{ tx, all }] : [],
  )
  if (found.length === 0) return undefined
  return html`<h2>Unposted transfers</h2><p>Transactions between platform wallets without a journal
entry.</p>${cardTable(
    'Unposted transfers',
    [
      {
        head: 'Transaction',
        cell: ({ tx }) => shortHash(tx, transferPath(tx)),
      },
      { head: 'Found', noWrap: true, cell: ({ all: [first] }) => timeAgo(first!.found_at) },
      {
        head: 'Amount',
        number: true,
        cell: ({ all: [first] }) => formatAmount(Math.abs(first!.amount_microdollars), 'USDC'),
      },
      { head: 'Asset', cell: () => 'USDC' },
    ],
    found,
  )}`
}

const AuditedTransfer = z.object({
  entries: z.array(
    z.object({
      id: z.uuid(),
      from: z.string(),
      to: z.string(),
      amount: z.coerce.bigint(),
      asset: z.string(),
    }),
  ),
})

const transferTable = (lines: readonly AuditLineJson[]): Html =>
  cardTable(
    'Posted transfers',
    [
      { head: 'Posted', noWrap: true, cell: ({ at }) => timeAgo(at) },
      {
        head: 'Amount',
        number: true,
        cell: (line) =>
          entryLines(line, ({ amount, asset }) => `${formatAmount(amount, asset)} ${asset}`),
      },
      {
        head: 'Debit, credit',
        cell: (line) =>
          entryLines(
            line,
            ({ id, from, to }) =>
              html`<a href="${entryPath(id)}"><code
class="soft-breaks">${to}<br>${from}</code></a>`,
          ),
      },
      {
        head: 'Transaction',
        cell: ({ subject }) => shortHash(subject, transferPath(subject)),
      },
      {
        head: 'Author and reason',
        cell: (line) => html`${line.name}<br><span class="small muted">${line.reason}</span>`,
      },
    ],
    lines,
  )

type TransferEntry = z.infer<typeof AuditedTransfer>['entries'][number]

/** Text of each entry of a line, one per row. */
const entryLines = ({ after }: AuditLineJson, text: (entry: TransferEntry) => HtmlPart): Html =>
  html`${(AuditedTransfer.safeParse(after).data?.entries ?? []).map(
    (entry, i) => html`${i > 0 && html`<br>`}${text(entry)}`,
  )}`

const walletFacts = ({ treasury, spend, gas }: WalletsJson): Html =>
  html`<h2>Platform wallets</h2>${definitionList({
    Treasury: html`<code>${treasury.address}</code>`,
    Spend: html`<code>${spend.address}</code>`,
    Gas: gas !== null && html`<code>${gas.address}</code>`,
  })}`
