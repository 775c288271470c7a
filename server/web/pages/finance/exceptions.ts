import { z } from 'zod'
import type { ExceptionJson } from '../../../rest/finance/reconciliation.ts'
import type { Listed } from '../../../rest/paging.ts'
import { FINANCE } from '../../areas.ts'
import { optionalList } from '../../fields.ts'
import { fieldsOf, form } from '../../form.ts'
import { aligned, instantText, money } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, act, type PageRequest, page } from '../../page.ts'
import { address, cardTable, facts, hex, pager } from '../../table.ts'
import { entryPath, reason, reasonField } from './parts.ts'
import { transferPath } from './wallet-transfers.ts'

const PATH = '/finance/exceptions'
const PAGE = '30'

/** What may be decided, by whether the chain has more or less than the books. */
const MORE = {
  surplus: 'Book it: into suspense, until somebody knows whose it is',
  identified: 'Book it: it is for a key, as credits',
  explained: 'Nothing is to be booked: exceptions cancel each other out',
}
const LESS = {
  shortfall: 'Book it: as an expense of the house',
  explained: 'Nothing is to be booked: exceptions cancel each other out',
}

/** `/finance/exceptions`: differences between chain and books. */
export const exceptionsPage = (): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({
      state: z.enum(['open', 'all']).default('open'),
      cursor: z.string().max(500).optional(),
    }),
    acts: {
      resolve: act({
        fields: z.object({
          id: z.string().max(20),
          decision: z.enum(['surplus', 'shortfall', 'identified', 'explained']),
          key_id: z.string().trim().max(40).default(''),
          together: optionalList,
          reason,
        }),
        run: async ({ ask }, { id, decision, key_id, together, reason: why }) => {
          await ask('POST /v1/finance/exceptions/{id}/resolve', {
            params: { id },
            body: {
              decision,
              reason: why,
              ...(decision === 'identified' && { key_id }),
              ...(decision === 'explained' && { together: together ?? [] }),
            },
          })
          return { to: `${PATH}?done=resolved` }
        },
      }),
    },
    done: { resolved: 'The exception is resolved.' },
    show: async (request) => {
      const { state, cursor } = request.query
      const found = await request.ask<Listed<ExceptionJson>>('GET /v1/finance/exceptions', {
        query: { limit: PAGE, state, cursor },
      })
      const open = found.data.filter(({ resolved_at: at }) => at === null)
      return {
        title: 'Exceptions',
        area: FINANCE,
        tab: 'Exceptions',
        main: html`<h1>Exceptions</h1><p class="lead">Every minute the books are held against the
chain. What neither a payment under way nor an entry explains stands here.</p>
<nav class="choices" aria-label="Which">${choice('open', 'Open', state)}${choice(
          'all',
          'All',
          state,
        )}</nav>${
          state === 'open'
            ? openOnes(request, open)
            : html`${found.data.length === 0 ? empty('There never was one.') : all(found.data)}`
        }${pager(PATH, { state, cursor }, found.next_cursor)}`,
      }
    },
  })

const choice = (value: string, text: string, state: string): Html =>
  value === state
    ? html`<strong aria-current="true">${text}</strong>`
    : html`<a href="${address(PATH, { state: value })}">${text}</a>`

const openOnes = (request: PageRequest, open: readonly ExceptionJson[]): Html =>
  open.length === 0
    ? empty('Chain and books agree: nothing is open.')
    : html`<div class="list">${open.map((each) => exception(request, each))}</div>`

/** What reconciliation found, as people say it. */
const KINDS: Readonly<Record<string, string>> = {
  unknown_deposit: 'Came in, and no entry says why',
  unknown_withdrawal: 'Went out, and no entry says why',
  missing_on_chain: 'Booked, and not on the chain',
  amount_differs: 'Booked with another amount',
  booked_twice: 'Booked twice',
  no_transaction: 'Booked without a transaction',
  balance_differs: 'The wallet holds another amount',
  reorganised: 'The chain has taken it back',
}
const kindOf = (kind: string): string => KINDS[kind] ?? kind.replaceAll('_', ' ')

function exception({ sent }: PageRequest, each: ExceptionJson): Html {
  const { exception_id: id, amount_microdollars: amount } = each
  const fields = fieldsOf('resolve', sent?.values['id'] === id ? sent : undefined, id)
  const said = amount > 0 ? 'more on chain than in the books' : 'less on chain than in the books'
  return html`<section class="card" id="exception-${id}"><h2>${kindOf(each.kind)}:
${money(Math.abs(amount))}</h2><p>${each.detail}</p>${facts({
    Number: id,
    Wallet: each.wallet,
    Difference: amount === 0 ? 'none' : `${money(Math.abs(amount))} ${said}`,
    Transaction:
      each.transaction !== null &&
      html`${hex(each.transaction)}<br><a href="${transferPath(each.transaction)}">Is it a transfer
between wallets of the house?</a>`,
    Entry:
      each.entry_id !== null &&
      html`<a href="${entryPath(each.entry_id)}"><code>${each.entry_id}</code></a>`,
    Found: instantText(each.found_at),
  })}<details${sent?.values['id'] === id && html` open`}><summary>Resolve it</summary>${form({
    act: 'resolve',
    submit: 'Resolve',
    hidden: { id },
    fields: [
      fields.select(
        { name: 'decision', label: 'What it is', required: true },
        amount > 0 ? MORE : LESS,
      ),
      amount > 0 &&
        fields.text({
          name: 'key_id',
          label: 'Key',
          hint: 'Where it is for a key: key_…',
          max: 40,
        }),
      fields.text({
        name: 'together',
        label: 'Further exceptions',
        hint: 'Where some cancel each other out: the numbers of the others.',
        max: 500,
      }),
      reasonField(fields),
    ],
  })}</details></section>`
}

const all = (rows: readonly ExceptionJson[]): Html =>
  cardTable(
    'Exceptions',
    [
      { head: 'Number', number: true, cell: (each) => each.exception_id },
      { head: 'Found', whole: true, cell: (each) => instantText(each.found_at) },
      { head: 'Kind', cell: ({ kind }) => kindOf(kind) },
      { head: 'Wallet', cell: ({ wallet }) => wallet },
      {
        head: 'Chain less books',
        number: true,
        cell: aligned(rows, (each) => each.amount_microdollars),
      },
      {
        head: 'State',
        cell: (each) =>
          each.resolution === null
            ? html`<span class="badge bad">open</span>`
            : html`${each.resolution}${each.author !== null && html` by ${each.author}`}<br>
<span class="small muted">${each.explanation ?? ''}</span>`,
      },
      {
        head: 'Entry',
        cell: ({ answer_id: answer }) =>
          answer !== null && html`<a href="${entryPath(answer)}">booked</a>`,
      },
    ],
    rows,
  )
