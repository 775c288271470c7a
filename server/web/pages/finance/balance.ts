import { z } from 'zod'
import type { Clock } from '../../../../core/clock.ts'
import type { TrialBalanceJson } from '../../../rest/finance/books.ts'
import { FINANCE } from '../../areas.ts'
import { filterField, filters, optionsOf } from '../../form.ts'
import { counted, instant } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, page } from '../../page.ts'
import { address, bookTable } from '../../table.ts'
import { accountLink, credit, debit, optionalDay, units } from './parts.ts'

const PATH = '/finance/trial-balance'
const PAGE = 100
const KINDS = {
  '': 'everything',
  'assets:': 'assets',
  'liabilities:': 'liabilities',
  'income:': 'income',
  'expenses:': 'expenses',
  'equity:': 'equity',
}

/** `/finance/trial-balance`: what every account held at the end of a day. */
export const balancePage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({
      day: optionalDay,
      prefix: z
        .string()
        .regex(/^[\w:.-]{0,200}$/, 'the beginning of an account')
        .default(''),
      after: z.string().max(300).optional(),
    }),
    show: async ({ ask, query }) => {
      const { day, prefix } = query
      const by = Object.hasOwn(KINDS, prefix) ? 'group' : 'account'
      const found = await ask<TrialBalanceJson>('GET /v1/finance/trial-balance', {
        query: { ...query, by, limit: String(PAGE) },
      })
      const kinds = by === 'group' ? KINDS : { ...KINDS, [prefix]: prefix }
      return {
        title: 'Trial balance',
        area: FINANCE,
        tab: 'Trial balance',
        main: html`<h1>Trial balance</h1><p class="lead">${
          day === undefined
            ? `As it is now, ${instant(clock.now())}.`
            : `As of the end of ${day} (UTC), by value date.`
        }</p>${filters(PATH, [
          filterField(
            'day',
            'At the end of',
            html`<input type="date" id="filter-day" name="day" value="${day ?? ''}">`,
          ),
          filterField(
            'prefix',
            'Of',
            html`<select id="filter-prefix" name="prefix">${optionsOf(kinds, prefix)}</select>`,
          ),
        ])}${verdict(found)}${balances(found, query)}`,
      }
    },
  })

function verdict({ totals }: TrialBalanceJson): Html {
  const wrong = totals.filter(({ total }) => total !== 0)
  if (wrong.length === 0) {
    return html`<div class="box good"><p>Debits and credits are equal for each asset.</p></div>`
  }
  const said = wrong.map(({ asset, total }) => `${units(total, asset)} ${asset}`).join(', ')
  return html`<div class="box bad" role="alert"><p><strong>The books do not balance:</strong>
${said}.</p></div>`
}

type Line = TrialBalanceJson['accounts'][number]

interface Query {
  readonly day: string | undefined
  readonly prefix: string
  readonly after?: string | undefined
}

/** An account leads to its statement, and many of one kind to each of them. */
const nameOf = ({ account, accounts }: Line, day: string | undefined): Html =>
  account.endsWith(':')
    ? html`<a href="${address(PATH, { day, prefix: account })}"><code>${account}</code></a>
<span class="small muted whole">${counted(accounts, 'account')}</span>`
    : accountLink(account, day)

/** What each asset comes to on both sides, on all pages. */
const sumRows = ({ sums }: TrialBalanceJson) =>
  sums.map(({ asset, debits, credits }) => [
    'Total',
    units(debits, asset),
    units(credits, asset),
    asset,
  ])

function balances(found: TrialBalanceJson, { day, prefix, after }: Query): Html {
  const { accounts, more } = found
  if (accounts.length === 0) return empty('No account of this kind held anything.')
  return html`${bookTable(
    'Trial balance',
    [
      { head: 'Account', cell: (line) => nameOf(line, day) },
      { head: 'Debit', number: true, cell: ({ balance, asset }) => debit(balance, asset) },
      { head: 'Credit', number: true, cell: ({ balance, asset }) => credit(balance, asset) },
      { head: 'Asset', cell: ({ asset }) => asset },
    ],
    accounts,
    sumRows(found),
  )}<p class="small muted">Accounts that hold nothing are left out${
    (more || after) && '; the totals are of all pages together'
  }.</p>${
    more &&
    html`<nav class="pager" aria-label="Pages"><a class="button plain" rel="next"
href="${address(PATH, { day, prefix, after: accounts.at(-1)?.account })}">More</a></nav>`
  }`
}
