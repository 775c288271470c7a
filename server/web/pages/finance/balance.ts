import { z } from 'zod'
import type { TrialBalanceJson } from '../../../rest/finance-books.ts'
import { FINANCE } from '../../areas.ts'
import { filterField, filters, optionsOf } from '../../form.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type AnyPage, page } from '../../page.ts'
import { table } from '../../table.ts'
import { accountLink, credit, debit, optionalDay, units } from './parts.ts'

const PATH = '/finance/trial-balance'
const KINDS = {
  '': 'all accounts',
  'assets:': 'assets',
  'liabilities:': 'liabilities',
  'income:': 'income',
  'expenses:': 'expenses',
  'equity:': 'equity',
}

/** `/finance/trial-balance`: what every account held at the end of a day. */
export const balancePage = (): AnyPage =>
  page({
    path: PATH,
    person: true,
    query: z.object({
      day: optionalDay,
      prefix: z.enum(Object.keys(KINDS) as [keyof typeof KINDS]).default(''),
    }),
    show: async ({ ask, query: { day, prefix } }) => {
      const found = await ask<TrialBalanceJson>('GET /v1/finance/trial-balance', {
        query: { day, prefix },
      })
      return {
        title: 'Trial balance',
        area: FINANCE,
        tab: 'Trial balance',
        main: html`<h1>Trial balance</h1><p class="lead">${
          day === undefined ? 'As it is now.' : `As of the end of ${day} (UTC), by value date.`
        }</p>${filters(PATH, [
          filterField(
            'day',
            'At the end of',
            html`<input type="date" id="filter-day" name="day" value="${day ?? ''}">`,
          ),
          filterField(
            'prefix',
            'Of',
            html`<select id="filter-prefix" name="prefix">${optionsOf(KINDS, prefix)}</select>`,
          ),
        ])}${verdict(found)}${balances(found)}`,
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

function balances({ accounts, more }: TrialBalanceJson): Html {
  if (accounts.length === 0) return empty('No account of this kind held anything.')
  return html`${table(
    'Trial balance',
    [
      { head: 'Account', cell: ({ account }) => accountLink(account) },
      { head: 'Debit', number: true, cell: ({ balance, asset }) => debit(balance, asset) },
      { head: 'Credit', number: true, cell: ({ balance, asset }) => credit(balance, asset) },
      { head: 'Asset', cell: ({ asset }) => asset },
    ],
    accounts,
  )}<p class="small muted">Accounts that hold nothing are left out.${
    more && ' There are more than are shown: an export has them all.'
  }</p>`
}
