import { z } from 'zod'
import type { Clock } from '../../../../core/clock.ts'
import type { TrialBalanceJson } from '../../../rest/finance/ledger.ts'
import { dayFilter, filterBar, selectFilter } from '../../form.ts'
import { optionalDay } from '../../form-schemas.ts'
import { formatTime, pluralize } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, page } from '../../page.ts'
import { ledgerTable, pager, withQuery } from '../../table.ts'
import { accountLink, credit, debit, formatAmount, groupLink } from './components.ts'

const PATH = '/finance/trial-balance'
const PAGE_SIZE = 100
const KINDS = {
  '': 'All accounts',
  'assets:': 'Assets',
  'liabilities:': 'Liabilities',
  'income:': 'Income',
  'expenses:': 'Expenses',
  'equity:': 'Equity',
}

/** `/finance/trial-balance`: balances of all accounts, now or at the end of a day. */
export const balancePage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page(PATH, {
    query: z.object({
      day: optionalDay,
      prefix: z
        .string()
        .regex(/^[\w:.-]{0,200}$/, 'enter the beginning of an account name')
        .default(''),
      after: z.string().max(300).optional(),
    }),
    render: async ({ api, query }) => {
      const { day, prefix } = query
      const by = Object.hasOwn(KINDS, prefix) ? 'group' : 'account'
      const found = await api<TrialBalanceJson>('GET /v1/finance/trial-balance', {
        query: { ...query, by, limit: String(PAGE_SIZE) },
      })
      const kinds = by === 'group' ? KINDS : { ...KINDS, [prefix]: prefix }
      return {
        title: 'Trial balance',
        tabs: FINANCE_TABS,
        main: html`<h1>Trial balance</h1><p class="lead">${
          day === undefined
            ? `As of now, ${formatTime(clock.now())}.`
            : `As of the end of ${day} (UTC), by value date.`
        }</p>${filterBar(PATH, [
          dayFilter('day', 'End of day', day),
          selectFilter('prefix', 'Accounts', kinds, prefix),
        ])}${equalityCheck(found)}${balanceTable(found, query)}`,
      }
    },
  })

function equalityCheck({ totals }: TrialBalanceJson): Html {
  const wrong = totals.filter(({ total }) => total !== 0)
  if (wrong.length === 0) {
    return html`<div class="box good"><p>Debits and credits are equal for each asset.</p></div>`
  }
  const differences = wrong
    .map(({ asset, total }) => `${formatAmount(total, asset)} ${asset}`)
    .join(', ')
  return html`<div class="box bad" role="alert"><p><strong>Debits and credits differ by:</strong>
${differences}.</p></div>`
}

type Line = TrialBalanceJson['accounts'][number]

interface Query {
  readonly day: string | undefined
  readonly prefix: string
  readonly after?: string | undefined
}

/** Link to the statement of an account; groups of accounts link to their members. */
const nameOf = ({ account, accounts }: Line, day: string | undefined): Html =>
  account.endsWith(':')
    ? html`${groupLink(account, withQuery(PATH, { day, prefix: account }))}
<span class="small muted nowrap">${pluralize(accounts, 'account')}</span>`
    : accountLink(account, day)

/** Total rows per asset, over all pages. */
const totalRows = ({ sums }: TrialBalanceJson) =>
  sums.map(({ asset, debits, credits }) => [
    'Total',
    formatAmount(debits, asset),
    formatAmount(credits, asset),
    asset,
  ])

function balanceTable(found: TrialBalanceJson, { day, prefix, after }: Query): Html {
  const { accounts, more } = found
  if (accounts.length === 0) return emptyState('No accounts with a balance.')
  return html`${ledgerTable(
    'Trial balance',
    [
      { head: 'Account', cell: (line) => nameOf(line, day) },
      { head: 'Debit', number: true, cell: ({ balance, asset }) => debit(balance, asset) },
      { head: 'Credit', number: true, cell: ({ balance, asset }) => credit(balance, asset) },
      { head: 'Asset', cell: ({ asset }) => asset },
    ],
    accounts,
    totalRows(found),
  )}<p class="small muted">Accounts with a zero balance are not shown${
    (more || after) && '; totals cover all pages'
  }.</p>${pager(
    PATH,
    { day, prefix, after },
    more ? (accounts.at(-1)?.account ?? null) : null,
    'after',
  )}`
}
