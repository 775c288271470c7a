import { z } from 'zod'
import { type Clock, dayName, daysBefore, monthName, monthStart } from '../../../../core/clock.ts'
import type { ChecklistJson, PeriodJson } from '../../../rest/finance/periods.ts'
import { rowMenu } from '../../dialog.ts'
import { filterBar, form, formFields, textFilter } from '../../form.ts'
import { checkbox, monthField } from '../../form-schemas.ts'
import { formatTime } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { cardTable, table, withQuery } from '../../table.ts'
import { reason, reasonField } from './components.ts'

const PATH = '/finance/periods'

/** `/finance/periods`: closed months, the checklist of a month, and the form that closes it. */
export const periodsPage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page(PATH, {
    query: z.object({
      month: z.literal('').or(monthField).default(''),
    }),
    actions: {
      close: formAction({
        fields: z.object({
          month: monthField,
          sure: checkbox,
          override: checkbox,
          reason,
        }),
        run: async ({ api }, { month, sure, override, reason: why }) => {
          if (!sure) return { to: `${PATH}?done=unsure` }
          const body = { month, override, reason: why }
          const { state } = await api<{ state: string }>('POST /v1/finance/periods', { body })
          return { to: `${PATH}?done=${state}` }
        },
      }),
    },
    notices: {
      closed: 'The month is already closed.',
      proposed: 'Closing proposed. Another person closes the month by confirming the proposal.',
      unsure: 'Not closed. Tick the box to confirm.',
    },
    render: async (request) => {
      const { api, query, submission } = request
      const asked = submission?.values['month'] ?? query.month
      const isMonth = monthField.safeParse(asked).success
      const month = isMonth ? asked : monthName(monthStart(clock.now(), -1))
      const [periods, checklist] = await Promise.all([
        api<{ data: readonly PeriodJson[] }>('GET /v1/finance/periods'),
        api<ChecklistJson>('GET /v1/finance/periods/{month}/checklist', { params: { month } }),
      ])
      return {
        title: 'Periods',
        tabs: FINANCE_TABS,
        main: html`<h1>Periods</h1><p class="lead">A closed month accepts no more entries and
cannot be reopened. Late entries get the date on which they are posted.</p>${checklistPart(
          checklist,
        )}${closeForm(request, checklist)}<h2>Closed months</h2>${
          periods.data.length === 0
            ? emptyState('No closed months yet.')
            : periodTable(periods.data)
        }`,
      }
    },
  })

/** Pages on which a missing item is dealt with. */
const ITEM_PATHS: Readonly<Record<string, string>> = {
  balanced: '/finance/trial-balance',
  exceptions: '/finance/exceptions',
  proposals: '/finance/adjustments',
  payments: '/finance/payments',
  revalued: '/finance/conversion#revalue',
}

const checklistPart = ({ month, items }: ChecklistJson): Html =>
  html`<h2 id="checklist">Checklist for ${month}</h2>${filterBar(PATH, [
    textFilter('month', 'Month', month, 8),
  ])}${table(
    `Checklist for ${month}`,
    [
      {
        head: 'Condition',
        cell: ({ name, description, advice, open }) =>
          html`${
            ITEM_PATHS[name] === undefined
              ? description
              : html`<a href="${ITEM_PATHS[name]}">${description}</a>`
          }${open > 0 && html`<br><span class="small muted">${advice}</span>`}`,
      },
      {
        head: 'Status',
        cell: ({ name, open }) => {
          if (open === 0) return html`<span class="badge good">met</span>`
          const state = COUNTED.has(name) ? `${open} open` : 'not met'
          return html`<span class="badge bad">${state}</span>`
        },
      },
    ],
    items,
  )}`

const COUNTED: ReadonlySet<string> = new Set(['verified', 'exceptions', 'proposals', 'payments'])

function closeForm({ submission }: PageRequest, { month, complete }: ChecklistJson): Html {
  const fields = formFields('close', submission)
  return html`<h2 id="close">Close a month</h2><p>One person prepares the closing, another one
confirms it on <a href="/finance/adjustments">Adjustments</a>.</p>${form({
    act: 'close',
    submit: 'Propose to close the month',
    kind: 'danger',
    fields: [
      fields.text({
        name: 'month',
        label: 'Month',
        value: month,
        hint: 'A month (UTC) that has ended. All earlier months are closed, too.',
        max: 7,
        size: 8,
        required: true,
      }),
      reasonField(fields),
      !complete &&
        fields.check({
          name: 'override',
          label: 'Close although the checklist is not complete',
          hint: 'Both people take responsibility, with their reasons in the audit log.',
        }),
      fields.check({
        name: 'sure',
        label: 'I understand that it cannot be reopened',
        required: true,
      }),
    ],
  })}`
}

const periodTable = (rows: readonly PeriodJson[]): Html =>
  cardTable(
    'Closed months',
    [
      {
        head: 'Month',
        cell: ({ month }) =>
          html`<a href="/finance/trial-balance?day=${lastDayOf(month)}">${month}</a>`,
      },
      { head: 'Closed', noWrap: true, cell: ({ closed_at: at }) => formatTime(at) },
      { head: 'Author', cell: ({ author }) => author },
      { head: 'Actions', cell: ({ month }) => monthMenu(month) },
    ],
    rows,
  )

function monthMenu(month: string): Html {
  const days = { from: `${month}-01`, to: lastDayOf(month) }
  return rowMenu(`menu-${month}`, month, [
    html`<a href="${withQuery('/finance/reports', { period: month })}">Reports</a>`,
    html`<a href="${withQuery('/finance/trial-balance', { day: days.to })}">Trial balance</a>`,
    html`<a href="${withQuery('/finance/journal', days)}">Journal</a>`,
    html`<a href="${withQuery('/finance/conversion', { period: month })}">Conversion</a>`,
  ])
}

const lastDayOf = (month: string): string =>
  dayName(daysBefore(monthStart(new Date(`${month}-01T00:00:00Z`), 1), 1))
