import { z } from 'zod'
import { type Clock, monthName, monthStart } from '../../../../core/clock.ts'
import type { PeriodJson } from '../../../rest/finance/books.ts'
import type { OverviewJson } from '../../../rest/finance/overview.ts'
import { FINANCE } from '../../areas.ts'
import { ticked } from '../../fields.ts'
import { fieldsOf, form } from '../../form.ts'
import { counted, instantText } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, act, type PageRequest, page } from '../../page.ts'
import { cardTable } from '../../table.ts'
import { reason, reasonField } from './parts.ts'

const PATH = '/finance/periods'

/** `/finance/periods`: months whose books are closed, and the closing of one. */
export const periodsPage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({}),
    acts: {
      close: act({
        fields: z.object({
          month: z.string().regex(/^\d{4}-\d\d$/, 'a month, such as 2026-11'),
          sure: ticked,
          reason,
        }),
        run: async ({ ask }, { month, sure, reason: why }) => {
          if (!sure) return { to: `${PATH}?done=unsure` }
          await ask('POST /v1/finance/periods', { body: { month, reason: why } })
          return { to: `${PATH}?done=closed` }
        },
      }),
    },
    done: {
      closed: 'The month is closed.',
      unsure: 'Nothing was closed: tick that you are sure.',
    },
    show: async (request) => {
      const { ask } = request
      const [periods, waiting] = await Promise.all([
        ask<{ data: readonly PeriodJson[] }>('GET /v1/finance/periods'),
        ask<OverviewJson>('GET /v1/finance/overview'),
      ])
      return {
        title: 'Periods',
        area: FINANCE,
        tab: 'Periods',
        main: html`<h1>Periods</h1><p class="lead">A closed month takes no more entries, for good:
what comes later is dated when it is booked. No month can be opened again.</p>${closeForm(
          request,
          clock,
          warnings(waiting),
        )}<h2>Closed months</h2>${
          periods.data.length === 0 ? empty('No month is closed yet.') : closed(periods.data)
        }`,
      }
    },
  })

/** What speaks against closing; nothing of it forbids it. */
function warnings({ sound, exceptions: open }: OverviewJson): Html | undefined {
  const said = [
    !sound && html`The <a href="/finance/trial-balance">trial balance</a> is not zero. `,
    open > 0 &&
      html`<a href="/finance/exceptions">${counted(open, 'exception')}</a> between chain and
books ${open === 1 ? 'is' : 'are'} open.`,
  ].filter((text) => text !== false)
  if (said.length === 0) return undefined
  return html`<div class="box fair"><p>Before you close: ${said}</p></div>`
}

function closeForm({ sent }: PageRequest, clock: Clock, warning: Html | undefined): Html {
  const fields = fieldsOf('close', sent)
  const last = monthName(monthStart(clock.now(), -1))
  return html`<h2 id="close">Close a month</h2>${warning}${form({
    act: 'close',
    submit: 'Close it for good',
    kind: 'danger',
    fields: [
      fields.text({
        name: 'month',
        label: 'Month',
        value: last,
        hint: 'A UTC month that is over. All before it are closed with it.',
        max: 7,
        size: 8,
        required: true,
      }),
      reasonField(fields),
      fields.check({
        name: 'sure',
        label: 'I know that it cannot be opened again',
        required: true,
      }),
    ],
  })}`
}

const closed = (rows: readonly PeriodJson[]): Html =>
  cardTable(
    'Closed months',
    [
      {
        head: 'Month',
        cell: ({ month }) =>
          html`<a href="/finance/trial-balance?day=${lastDayOf(month)}">${month}</a>`,
      },
      { head: 'Closed', whole: true, cell: ({ closed_at: at }) => instantText(at) },
      { head: 'By', cell: ({ author }) => author },
    ],
    rows,
  )

const DAY_MS = 86_400_000

const lastDayOf = (month: string): string => {
  const next = monthStart(new Date(`${month}-01T00:00:00Z`), 1)
  return new Date(next.getTime() - DAY_MS).toISOString().slice(0, 10)
}
