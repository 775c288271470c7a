import { z } from 'zod'
import { AUTOMATIC_PAUSE_ADVICE } from '../../../../core/payments/operations/outgoing-switch.ts'
import type { OutgoingJson } from '../../../rest/finance/outgoing.ts'
import type { PaymentJson } from '../../../rest/finance/payments.ts'
import type { ListPage } from '../../../rest/paging.ts'
import { rowMenu } from '../../dialog.ts'
import { filterBar, form, formFields, selectFilter } from '../../form.ts'
import { alignedColumn, formatDollars, formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { cardTable, definitionList, pager, shortHash, timeAgo } from '../../table.ts'
import { accountPath, entryPath, reason, reasonField } from './components.ts'

const PATH = '/finance/payments'
const PAGE_SIZE = '50'
const STATES = { open: 'Not final', all: 'All' }
const DIRECTIONS = { '': 'Both', in: 'Incoming', out: 'To sellers' }

/** `/finance/payments`: payments that are not final, and the switch for payments to sellers. */
export const paymentsPage = (): AnyPage =>
  page(PATH, {
    query: z.object({
      state: z.enum(['open', 'all']).default('open'),
      direction: z.enum(['', 'in', 'out']).default(''),
      cursor: z.string().max(500).optional(),
    }),
    actions: {
      switch: formAction({
        fields: z.object({ paused: z.enum(['true', 'false']), reason }),
        run: async ({ api }, { paused, reason: why }) => {
          const body = { paused: paused === 'true', reason: why }
          await api('POST /v1/finance/outgoing', { body })
          return { to: `${PATH}?done=${body.paused ? 'paused' : 'resumed'}` }
        },
      }),
    },
    notices: {
      paused: 'Payments to sellers paused on all processes.',
      resumed: 'Payments to sellers resumed.',
    },
    render: async (request) => {
      const { state, direction, cursor } = request.query
      const [found, outgoing] = await Promise.all([
        request.api<ListPage<PaymentJson>>('GET /v1/finance/payments', {
          query: { limit: PAGE_SIZE, state, direction, cursor },
        }),
        request.api<OutgoingJson>('GET /v1/finance/outgoing'),
      ])
      return {
        title: 'Payments',
        tabs: FINANCE_TABS,
        main: html`<h1>Payments</h1><p class="lead">Incoming and outgoing payments. Those that
are not final are resolved automatically once the blockchain shows their result.</p>${filterBar(
          PATH,
          [
            selectFilter('state', 'State', STATES, state),
            selectFilter('direction', 'Direction', DIRECTIONS, direction),
          ],
        )}${
          found.data.length === 0
            ? emptyState(state === 'open' ? 'All payments are final.' : 'No payments yet.')
            : paymentTable(found.data)
        }${pager(PATH, { state, direction, cursor }, found.next_cursor)}${switchPart(
          request,
          outgoing,
        )}`,
      }
    },
  })

const PURPOSES: Readonly<Record<PaymentJson['purpose'], string>> = {
  credits: 'received for credits',
  call: 'received for a call',
  external: 'paid for an external call',
}

const paymentTable = (rows: readonly PaymentJson[]): Html =>
  cardTable(
    'Payments',
    [
      {
        head: 'Since',
        cell: (each) => html`<a href="${entryPath(each.id)}">${timeAgo(each.since)}</a>`,
      },
      {
        head: 'State',
        cell: ({ state, overdue }) =>
          html`${state}${overdue && html` <span class="badge bad">overdue</span>`}`,
      },
      { head: 'Purpose', cell: ({ purpose }) => PURPOSES[purpose] },
      {
        head: 'Counterparty',
        cell: ({ counterparty, host }) =>
          html`${host !== null && html`${host}<br>`}${shortHash(counterparty)}`,
      },
      {
        head: 'Amount',
        number: true,
        cell: alignedColumn(rows, (each) => each.amount_microdollars),
      },
      { head: 'Next step', cell: ({ next_step: next }) => next },
      { head: 'Actions', cell: paymentMenu },
    ],
    rows,
  )

const paymentMenu = ({ id, direction, key_id: key, amount_microdollars: amount }: PaymentJson) =>
  rowMenu(`menu-${id}`, `the payment of ${formatDollars(amount)}`, [
    html`<a href="${entryPath(id)}">Entries</a>`,
    key !== null &&
      html`<a href="${accountPath(`liabilities:agents:${key}:credits`)}">Statement of the key</a>`,
    direction === 'out' && html`<a href="#switch">Pause payments to sellers</a>`,
  ])

function switchPart({ submission }: PageRequest, outgoing: OutgoingJson): Html {
  const { paused, automatic, author, reason: why, since, today, caps } = outgoing
  const fields = formFields('switch', submission)
  return html`<section id="switch"><h2>Payments to sellers</h2>${definitionList({
    State: html`<span class="badge ${paused ? 'bad' : 'good'}">${paused ? 'paused' : 'on'}</span>`,
    'Set by': author !== null && `${author}, ${formatTime(since)}: ${why ?? ''}`,
    'Next step': automatic && AUTOMATIC_PAUSE_ADVICE,
    'Paid today (UTC)': `${formatDollars(today.platform_microdollars)} of at most ${formatDollars(
      caps.platform_day_microdollars,
    )}`,
  })}${switchForm(paused && !automatic, fields)}</section>`
}

/** Form that pauses or resumes payments to sellers; usable on any page. */
export const switchForm = (paused: boolean, fields: ReturnType<typeof formFields>): Html =>
  form({
    act: 'switch',
    submit: paused ? 'Resume payments' : 'Pause payments',
    ...(!paused && { kind: 'danger' as const }),
    to: PATH,
    hidden: { paused: String(!paused) },
    fields: [reasonField(fields)],
  })
