import { z } from 'zod'
import type { OutgoingJson } from '../../../rest/finance/outgoing.ts'
import type { PaymentJson } from '../../../rest/finance/payments.ts'
import type { Listed } from '../../../rest/paging.ts'
import { FINANCE } from '../../areas.ts'
import { fieldsOf, filterField, filters, form, optionsOf } from '../../form.ts'
import { aligned, instantText, money } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, act, type PageRequest, page } from '../../page.ts'
import { cardTable, facts, hex, pager } from '../../table.ts'
import { entryPath, reason, reasonField } from './parts.ts'

const PATH = '/finance/payments'
const PAGE = '50'
const STATES = { open: 'not final yet', all: 'all' }
const DIRECTIONS = { '': 'both ways', in: 'to the hub', out: 'to sellers' }

/** `/finance/payments`: payments whose outcome is open, and the switch of those to sellers. */
export const paymentsPage = (): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({
      state: z.enum(['open', 'all']).default('open'),
      direction: z.enum(['', 'in', 'out']).default(''),
      cursor: z.string().max(500).optional(),
    }),
    acts: {
      switch: act({
        fields: z.object({ paused: z.enum(['true', 'false']), reason }),
        run: async ({ ask }, { paused, reason: why }) => {
          const body = { paused: paused === 'true', reason: why }
          await ask('POST /v1/finance/outgoing', { body })
          return { to: `${PATH}?done=${body.paused ? 'paused' : 'resumed'}` }
        },
      }),
    },
    done: {
      paused: 'Payments to sellers are paused on every process.',
      resumed: 'Payments to sellers go on.',
    },
    show: async (request) => {
      const { state, direction, cursor } = request.query
      const [found, outgoing] = await Promise.all([
        request.ask<Listed<PaymentJson>>('GET /v1/finance/payments', {
          query: { limit: PAGE, state, direction, cursor },
        }),
        request.ask<OutgoingJson>('GET /v1/finance/outgoing'),
      ])
      return {
        title: 'Payments',
        area: FINANCE,
        tab: 'Payments',
        main: html`<h1>Payments</h1><p class="lead">What was paid to us and to sellers, and is not
final yet. It resolves itself by the evidence of the chain.</p>${filterForm(state, direction)}${
          found.data.length === 0
            ? empty(state === 'open' ? 'Every payment is final.' : 'There was none.')
            : paymentTable(found.data)
        }${pager(PATH, { state, direction, cursor }, found.next_cursor)}${switchOf(
          request,
          outgoing,
        )}`,
      }
    },
  })

const filterForm = (state: string, direction: string): Html =>
  filters(PATH, [
    filterField(
      'state',
      'Which',
      html`<select id="filter-state" name="state">${optionsOf(STATES, state)}</select>`,
    ),
    filterField(
      'direction',
      'Direction',
      html`<select id="filter-direction" name="direction">${optionsOf(
        DIRECTIONS,
        direction,
      )}</select>`,
    ),
  ])

const PURPOSES: Readonly<Record<PaymentJson['purpose'], string>> = {
  credits: 'received for credits',
  call: 'received for a call',
  external: 'paid for a call elsewhere',
}

const paymentTable = (rows: readonly PaymentJson[]): Html =>
  cardTable(
    'Payments',
    [
      {
        head: 'Since',
        cell: (each) => html`<a href="${entryPath(each.id)}">${instantText(each.since)}</a>`,
      },
      {
        head: 'State',
        cell: ({ state, overdue }) =>
          html`${state}${overdue && html` <span class="badge bad">overdue</span>`}`,
      },
      {
        head: 'What',
        cell: ({ purpose }) => PURPOSES[purpose],
      },
      {
        head: 'Who',
        cell: ({ counterparty, host }) =>
          html`${host !== null && html`${host}<br>`}${hex(counterparty)}`,
      },
      { head: 'Amount', number: true, cell: aligned(rows, (each) => each.amount_microdollars) },
      { head: 'Next', cell: ({ next_step: next }) => next },
    ],
    rows,
  )

function switchOf({ sent }: PageRequest, outgoing: OutgoingJson): Html {
  const { paused, author, reason: why, since, today, caps } = outgoing
  const fields = fieldsOf('switch', sent)
  return html`<section id="switch"><h2>Payments to sellers</h2>${facts({
    State: html`<span class="badge ${paused ? 'bad' : 'good'}">${paused ? 'paused' : 'on'}</span>`,
    'Set by': author !== null && `${author}, ${instantText(since)}: ${why ?? ''}`,
    'Paid today (UTC)': `${money(today.platform_microdollars)}, of at most ${money(
      caps.platform_day_microdollars,
    )}`,
  })}${switchForm(paused, fields)}</section>`
}

/** Lets payments go on that are paused, or pauses them; on whatever page it stands. */
export const switchForm = (paused: boolean, fields: ReturnType<typeof fieldsOf>): Html =>
  form({
    act: 'switch',
    submit: paused ? 'Let them go on' : 'Pause them',
    ...(!paused && { kind: 'danger' as const }),
    to: PATH,
    hidden: { paused: String(!paused) },
    fields: [reasonField(fields)],
  })
