import { z } from 'zod'
import { type Clock, dayName, daysBefore, monthName, monthStart } from '../../../../core/clock.ts'
import type { PeriodJson } from '../../../rest/finance/ledger.ts'
import type { OverviewJson } from '../../../rest/finance/overview.ts'
import { form, formFields } from '../../form.ts'
import { checkbox } from '../../form-schemas.ts'
import { formatTime, pluralize } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, formAction, type PageRequest, page } from '../../page.ts'
import { cardTable } from '../../table.ts'
import { reason, reasonField } from './components.ts'

const PATH = '/finance/periods'

/** `/finance/periods`: closed months, and the form that closes one. */
export const periodsPage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page(PATH, {
    actions: {
      close: formAction({
        fields: z.object({
          month: z.string().regex(/^\d{4}-\d\d$/, 'enter a month, such as 2026-11'),
          sure: checkbox,
          reason,
        }),
        run: async ({ api }, { month, sure, reason: why }) => {
          if (!sure) return { to: `${PATH}?done=unsure` }
          await api('POST /v1/finance/periods', { body: { month, reason: why } })
          return { to: `${PATH}?done=closed` }
        },
      }),
    },
    notices: { closed: 'Month closed.', unsure: 'Not closed. Tick the box to confirm.' },
    render: async (request) => {
      const { api } = request
      const [periods, overview] = await Promise.all([
        api<{ data: readonly PeriodJson[] }>('GET /v1/finance/periods'),
        api<OverviewJson>('GET /v1/finance/overview'),
      ])
      return {
        title: 'Periods',
        tabs: FINANCE_TABS,
        main: html`<h1>Periods</h1><p class="lead">A closed month accepts no more entries and
cannot be reopened. Late entries get the date on which they are posted.</p>${closeForm(
          request,
          clock,
          warnings(overview),
        )}<h2>Closed months</h2>${
          periods.data.length === 0
            ? emptyState('No closed months yet.')
            : periodTable(periods.data)
        }`,
      }
    },
  })

/** Reasons to wait before closing; they do not prevent it. */
function warnings({ sound, exceptions: open }: OverviewJson): Html | undefined {
  const reasons = [
    !sound && html`The <a href="/finance/trial-balance">trial balance</a> is not zero. `,
    open > 0 &&
      html`<a href="/finance/exceptions">${pluralize(open, 'exception')}</a> ${
        open === 1 ? 'is' : 'are'
      } open.`,
  ].filter((text) => text !== false)
  if (reasons.length === 0) return undefined
  return html`<div class="box fair"><p>Before you close: ${reasons}</p></div>`
}

function closeForm({ submission }: PageRequest, clock: Clock, warning: Html | undefined): Html {
  const fields = formFields('close', submission)
  const lastMonth = monthName(monthStart(clock.now(), -1))
  return html`<h2 id="close">Close a month</h2>${warning}${form({
    act: 'close',
    submit: 'Close month permanently',
    kind: 'danger',
    fields: [
      fields.text({
        name: 'month',
        label: 'Month',
        value: lastMonth,
        hint: 'A month (UTC) that has ended. All earlier months are closed, too.',
        max: 7,
        size: 8,
        required: true,
      }),
      reasonField(fields),
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
    ],
    rows,
  )

const lastDayOf = (month: string): string =>
  dayName(daysBefore(monthStart(new Date(`${month}-01T00:00:00Z`), 1), 1))
