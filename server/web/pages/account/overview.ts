import type { Pool } from 'pg'
import { z } from 'zod'
import { type Clock, dayName, daysBefore } from '../../../../core/clock.ts'
import { type Role, roleOf } from '../../../../core/identity/roles.ts'
import { type RootSums, sumsOfRoots } from '../../../../core/identity/roots.ts'
import { type DaySpent, dailySpending } from '../../../../core/usage/spending.ts'
import { ACCOUNT } from '../../areas.ts'
import { alike, count, counted, inDollars } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, page, personOn } from '../../page.ts'
import { stacks } from '../../stacks.ts'
import { address, table } from '../../table.ts'

export interface OverviewPorts {
  readonly pool: Pool
  readonly clock: Clock
  /** Wallets of administrators by configuration, in lower case. */
  readonly admins: readonly string[]
}

/** More days than these are summed up by weeks. */
const DAYS_EACH = 100
const RANGES = { '7': '7 days', '30': '30 days', '90': '90 days', '365': 'a year' } as const

/** `/account`: credits, and what became of them. */
export const overviewPage = ({ pool, clock, admins }: OverviewPorts): AnyPage =>
  page({
    path: '/account',
    person: true,
    query: z.object({ days: z.enum(['7', '30', '90', '365']).default('30') }),
    show: async (request) => {
      const { principals, email } = personOn(request)
      const { days: range } = request.query
      const now = clock.now()
      const days = Array.from({ length: Number(range) }, (_, i) =>
        dayName(daysBefore(now, Number(range) - 1 - i)),
      )
      const step = days.length > DAYS_EACH ? 7 : 1
      const [roots, spent, role] = await Promise.all([
        sumsOfRoots(pool, principals),
        dailySpending(pool, principals, { from: days[0]!, to: days.at(-1)!, step }),
        roleOf(pool, principals, admins),
      ])
      return {
        title: 'Account',
        area: ACCOUNT,
        tab: 'Overview',
        main: html`<h1>Account</h1><p class="lead">Signed in as ${email}.
<a class="small" href="/account/sessions">Sign out</a></p>${
          role !== undefined && staffLinks(role)
        }${
          roots.roots === 0 ? begin() : figures(roots, spent, RANGES[range])
        }${(roots.roots > 0 || spent.length > 0) && spending(days, spent, { range, step })}`,
      }
    },
  })

/** Where people of the house go. */
const staffLinks = (role: Role): Html =>
  html`<p class="actions"><a class="button plain" href="/finance">Finance</a>${
    role === 'admin' && html`<a class="button plain" href="/admin">Administration</a>`
  }</p>`

const begin = (): Html =>
  empty(
    'There are no keys here yet. A key is what an agent calls with; it holds credits.',
    html`<p><a class="button" href="/account/keys#make">Make the first key</a>
<a class="button plain" href="/account/wallets">Link a wallet that has keys</a></p>`,
  )

function figures(
  { roots, credits, keyId }: RootSums,
  spent: readonly DaySpent[],
  range: string,
): Html {
  const total = (of: (each: DaySpent) => bigint) => spent.reduce((sum, each) => sum + of(each), 0n)
  return html`<dl class="figures"><div><dt>Credits</dt><dd>${inDollars(credits)}</dd></div>
<div><dt>Spent in ${range}</dt><dd>${inDollars(total(({ spent }) => spent))}</dd></div>
<div><dt>Calls</dt><dd>${count(total(({ calls }) => calls))}</dd></div>
<div><dt>Failed, not charged</dt><dd>${count(total(({ failed }) => failed))}</dd></div>
<div><dt>Root keys</dt><dd>${count(roots)}</dd></div></dl>
${html`<p class="actions"><a class="button" href="${
  roots === 1 ? address('/topup', { key_id: keyId ?? '' }) : '/account/keys'
}">Top up</a><a class="button plain" href="/account/history">History</a></p>`}`
}

interface Shown {
  readonly range: string
  /** Days that one bar stands for. */
  readonly step: number
}

function spending(
  days: readonly string[],
  spent: readonly DaySpent[],
  { range, step }: Shown,
): Html {
  const ranges = html`<nav class="choices" aria-label="How far back">${Object.entries(RANGES).map(
    ([value, text]) =>
      value === range
        ? html`<strong aria-current="true">${text}</strong>`
        : html`<a href="${address('/account', { days: value })}">${text}</a>`,
  )}</nav>`
  if (spent.length === 0) {
    return html`<h2>Spending</h2>${ranges}${empty(
      'Nothing was called in this time.',
      html`<p><a href="/services">See what there is</a></p>`,
    )}`
  }
  const starts = days.filter((_, i) => i % step === 0)
  const amounts = spent.map(({ day, service, spent: amount }) => {
    return { day, of: service || SELLERS, amount }
  })
  const byService = [...Map.groupBy(spent, ({ service }) => service)].map(([service, all]) => ({
    service,
    calls: all.reduce((sum, { calls }) => sum + calls, 0n),
    failed: all.reduce((sum, { failed }) => sum + failed, 0n),
    amount: all.reduce((sum, { spent }) => sum + spent, 0n),
  }))
  const rows = byService.toSorted((a, b) => (a.amount < b.amount ? 1 : -1))
  const write = alike(rows.map(({ amount }) => amount))
  return html`<h2>Spending</h2>${ranges}${stacks(starts, amounts, {
    label: `Spending by service over time: ${counted(rows.length, 'service')}`,
    write: inDollars,
    each: step === 1 ? 'a day' : 'a week',
  })}${table(
    'Spending by service',
    [
      {
        head: 'Service',
        cell: ({ service }) =>
          service === '' ? SELLERS : html`<a href="/services/${service}">${service}</a>`,
      },
      { head: 'Calls', number: true, cell: ({ calls }) => count(calls) },
      { head: 'Failed', number: true, cell: ({ failed }) => count(failed) },
      { head: 'Spent', number: true, cell: ({ amount }) => write(amount) },
    ],
    rows,
  )}`
}

const SELLERS = 'sellers outside'
