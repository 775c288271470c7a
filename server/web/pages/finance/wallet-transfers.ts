import { z } from 'zod'
import { FAULTS, Fault } from '../../../../core/errors.ts'
import type { NotBooked } from '../../../../core/finance/wallet-transfers.ts'
import type { AuditLineJson } from '../../../rest/admin/audit.ts'
import type { OutgoingJson } from '../../../rest/finance/outgoing.ts'
import type { ExceptionJson } from '../../../rest/finance/reconciliation.ts'
import type { TransfersJson } from '../../../rest/finance/wallet-transfers.ts'
import type { WalletsJson } from '../../../rest/finance/wallets.ts'
import type { Listed } from '../../../rest/paging.ts'
import { FINANCE } from '../../areas.ts'
import { fieldsOf, filterField, form } from '../../form.ts'
import { instantText } from '../../format.ts'
import { type Html, html, type Part } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, act, type PageRequest, page } from '../../page.ts'
import { address, cardTable, facts, hex, pager } from '../../table.ts'
import { accountLink, entryPath, reason, reasonField, units } from './parts.ts'
import { switchForm } from './payments.ts'

const PATH = '/finance/transfers'
const PAGE = '30'
const MANY = '100'

type Request = PageRequest<{ readonly transaction: string; readonly cursor?: string | undefined }>

/** Where a transaction is looked at, and booked. */
export const transferPath = (transaction: string): string => address(PATH, { transaction })

/** `/finance/transfers`: money that went from one wallet of the house to another. */
export const transfersPage = (): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({
      transaction: z.string().trim().max(200).default(''),
      cursor: z.string().max(500).optional(),
    }),
    acts: {
      book: act({
        fields: z.object({ transaction: z.string().max(200), reason }),
        run: async ({ ask }, body) => {
          await ask('POST /v1/finance/transfers', { body })
          return { to: address(PATH, { transaction: body.transaction, done: 'booked' }) }
        },
      }),
    },
    done: { booked: 'The transfer is booked, as the chain tells it.' },
    show: async (request) => {
      const { ask, query } = request
      const [wallets, outgoing, open, past, looked] = await Promise.all([
        ask<WalletsJson>('GET /v1/finance/wallets'),
        ask<OutgoingJson>('GET /v1/finance/outgoing'),
        ask<Listed<ExceptionJson>>('GET /v1/finance/exceptions', { query: { limit: MANY } }),
        ask<Listed<AuditLineJson>>('GET /v1/admin/audit', {
          query: { act: 'transfer.book', limit: PAGE, cursor: query.cursor },
        }),
        query.transaction === '' ? undefined : look(request),
      ])
      const done = new Set(past.data.map(({ subject }) => subject))
      const unknown = open.data.filter(({ transaction }) => !done.has(transaction ?? ''))
      return {
        title: 'Transfers',
        area: FINANCE,
        tab: 'Transfers',
        main: html`<h1>Transfers</h1><p class="lead">Money that went from one wallet of the house to
another. You name the transaction; what it moved, the chain tells.</p>${lookForm(
          query.transaction,
        )}${looked}${pausedBy(outgoing, unknown)}${waiting(
          unknown.filter((each) => each.transaction !== query.transaction.toLowerCase()),
        )}<h2>Booked so far</h2>${
          past.data.length === 0 ? empty('No transfer was booked yet.') : booked(past.data)
        }${pager(PATH, { cursor: query.cursor }, past.next_cursor)}${walletFacts(wallets)}`,
      }
    },
  })

const lookForm = (transaction: string): Html =>
  html`<form action="${PATH}" class="fields" role="search" aria-label="A transaction">${filterField(
    'transaction',
    'Transaction',
    html`<input id="filter-transaction" name="transaction" value="${transaction}" size="66"
placeholder="0x…" autocomplete="off" spellcheck="false" maxlength="200" required>`,
  )}<button type="submit">Look it up</button></form>`

/** What a transaction did, with the button that books it; or why it cannot be booked. */
async function look(request: Request): Promise<Html> {
  const params = { transaction: request.query.transaction }
  try {
    const found = await request.ask<TransfersJson>('GET /v1/finance/transfers/{transaction}', {
      params,
    })
    return html`<section id="found">${
      found.booked ? html`<h2>It is booked</h2>${said(found)}` : toBook(request, found)
    }</section>`
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return refused(error)
  }
}

const toBook = ({ sent, path }: Request, found: TransfersJson): Html =>
  html`<h2>To be booked</h2>${said(found)}${form({
    act: 'book',
    submit: 'Book it',
    to: address(path, { transaction: found.transaction }),
    hidden: { transaction: found.transaction },
    fields: [reasonField(fieldsOf('book', sent))],
  })}`

const said = ({ transaction, block, time, booked, entries }: TransfersJson): Html =>
  html`${facts({
    Transaction: hex(transaction),
    Block: String(block),
    'Value date': instantText(time),
  })}${cardTable(
    'What it moved',
    [
      {
        head: 'Amount',
        whole: true,
        cell: ({ amount, asset }) => html`<strong>${units(amount, asset)} ${asset}</strong>`,
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

/** What to do about each refusal. */
const ADVICE: Readonly<Record<NotBooked, Part>> = {
  not_mined: 'Look at the hash again. If it was sent just now, wait for its block.',
  not_final: 'Load this page again in a minute.',
  not_ours: html`Transfers are between the addresses below. What came from anybody else is one of
the <a href="/finance/exceptions">exceptions</a>.`,
  opening: 'The opening balance of the wallet counted it: nothing is to be done.',
  accounted_for: html`Nothing is to be done: see <a href="/finance/exceptions?state=all">all
exceptions</a>, and the <a href="/finance/journal">journal</a>.`,
}

function refused({ code, status, message, extras }: Fault): Html {
  const isForm = code === 'validation_failed'
  return html`<div class="box ${status === 503 ? 'fair' : 'bad'}" role="alert">
<p><strong>${isForm ? 'That is no transaction.' : `${FAULTS[code][1]}.`}</strong> ${
    isForm ? 'It has to be 0x and 64 hexadecimal digits.' : message
  } ${ADVICE[extras['why'] as NotBooked]}</p><p class="small muted">Code
<a href="/docs/problems/${code}"><code>${code}</code></a></p></div>`
}

/**
 * Money that leaves, and nobody knows why, stops all payments until a person says otherwise: no
 * machine knows that nobody else has the key of the wallet.
 * @param open what nobody has accounted for yet
 */
function pausedBy(
  { paused, author, reason: why }: OutgoingJson,
  open: readonly ExceptionJson[],
): Html | undefined {
  if (!paused || author !== 'reconciliation') return undefined
  const gone = open.some((each) => each.wallet === 'spend' && each.amount_microdollars < 0)
  return html`<div class="box fair" id="paused"><p>Payments to sellers and providers are
paused: ${why}
${
  gone
    ? html`Once that is accounted for, <a href="/finance/payments#switch">let them go on</a>.</p>`
    : html`</p><p><strong>Nothing is missing from the spend wallet any more.</strong> They stay
paused until you let them go on.</p>${switchForm(paused, fieldsOf('switch', undefined))}`
}</div>`
}

/** Transactions that touch both wallets, of which the books know nothing yet. */
function waiting(open: readonly ExceptionJson[]): Html | undefined {
  const found = [...Map.groupBy(open, ({ transaction }) => transaction)].flatMap(([tx, all]) =>
    tx !== null && new Set(all.map(({ wallet }) => wallet)).size > 1 ? [{ tx, all }] : [],
  )
  if (found.length === 0) return undefined
  return html`<h2>Not booked yet</h2><p>These transactions are between wallets of the house, and no
entry tells of them.</p>${cardTable(
    'Not booked yet',
    [
      { head: 'Transaction', cell: ({ tx }) => html`<a href="${transferPath(tx)}">${hex(tx)}</a>` },
      { head: 'Found', whole: true, cell: ({ all: [first] }) => instantText(first!.found_at) },
      {
        head: 'Amount',
        number: true,
        cell: ({ all: [first] }) => units(Math.abs(first!.amount_microdollars), 'USDC'),
      },
      { head: 'Asset', cell: () => 'USDC' },
    ],
    found,
  )}`
}

const Booked = z.object({
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

const booked = (lines: readonly AuditLineJson[]): Html =>
  cardTable(
    'Booked so far',
    [
      { head: 'Booked', whole: true, cell: ({ at }) => instantText(at) },
      {
        head: 'Amount',
        number: true,
        cell: (line) => each(line, ({ amount, asset }) => `${units(amount, asset)} ${asset}`),
      },
      {
        head: 'Debit, credit',
        cell: (line) =>
          each(
            line,
            ({ id, from, to }) =>
              html`<a href="${entryPath(id)}"><code class="unbroken">${to}<br>${from}</code></a>`,
          ),
      },
      {
        head: 'Transaction',
        cell: ({ subject }) => html`<a href="${transferPath(subject)}">${hex(subject)}</a>`,
      },
      {
        head: 'By, and why',
        cell: (line) => html`${line.name}<br><span class="small muted">${line.reason}</span>`,
      },
    ],
    lines,
  )

type Entry = z.infer<typeof Booked>['entries'][number]

/** Of each entry of a line, one below the other. */
const each = ({ after }: AuditLineJson, write: (entry: Entry) => Part): Html =>
  html`${(Booked.safeParse(after).data?.entries ?? []).map(
    (entry, i) => html`${i > 0 && html`<br>`}${write(entry)}`,
  )}`

const walletFacts = ({ treasury, spend, gas }: WalletsJson): Html =>
  html`<h2>Wallets of the house</h2>${facts({
    Treasury: html`<code>${treasury.address}</code>`,
    Spend: html`<code>${spend.address}</code>`,
    Gas: gas !== null && html`<code>${gas.address}</code>`,
  })}`
