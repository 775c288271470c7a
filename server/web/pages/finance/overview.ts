import { z } from 'zod'
import type { AdjustmentJson } from '../../../rest/finance-adjustments.ts'
import type { TrialBalanceJson } from '../../../rest/finance-books.ts'
import type { OutgoingJson } from '../../../rest/finance-outgoing.ts'
import type { PaymentJson } from '../../../rest/finance-payments.ts'
import type { ExceptionJson } from '../../../rest/finance-reconciliation.ts'
import type { WalletsJson } from '../../../rest/finance-wallets.ts'
import type { Listed } from '../../../rest/paging.ts'
import { FINANCE } from '../../areas.ts'
import { count, money } from '../../format.ts'
import { type Html, html, type Part } from '../../html.ts'
import { type AnyPage, type PageRequest, page } from '../../page.ts'
import { table } from '../../table.ts'

const MANY = '100'

/** `/finance`: what waits for somebody, and what the wallets of the house hold. */
export const financePage = (): AnyPage =>
  page({
    path: '/finance',
    person: true,
    query: z.object({}),
    show: async ({ ask }) => {
      const [looks, wallets] = await Promise.all([
        lookedAt(ask),
        ask<WalletsJson>('GET /v1/finance/wallets'),
      ])
      return {
        title: 'Finance',
        area: FINANCE,
        tab: 'Overview',
        main: html`<h1>Finance</h1><p class="lead">Every movement of money is an entry of the
journal; every figure here follows from it.</p>${table(
          'What there is to look at',
          [
            { head: 'What', cell: ({ name, path }) => html`<a href="${path}">${name}</a>` },
            {
              head: 'Now',
              cell: ({ said, isGood }) =>
                html`<span class="badge ${isGood ? 'good' : 'bad'}">${said}</span>`,
            },
          ],
          looks,
        )}${walletTable(wallets)}`,
      }
    },
  })

/** What may wait for somebody, and whether it does. */
async function lookedAt(ask: PageRequest['ask']) {
  const limit = MANY
  const [books, exceptions, payments, proposals, outgoing] = await Promise.all([
    ask<TrialBalanceJson>('GET /v1/finance/trial-balance', { query: { prefix: 'equity:' } }),
    ask<Listed<ExceptionJson>>('GET /v1/finance/exceptions', { query: { limit } }),
    ask<Listed<PaymentJson>>('GET /v1/finance/payments', { query: { limit } }),
    ask<Listed<AdjustmentJson>>('GET /v1/finance/adjustments', { query: { limit, state: 'open' } }),
    ask<OutgoingJson>('GET /v1/finance/outgoing'),
  ])
  const isSound = books.totals.every(({ total }) => total === 0)
  const overdue = payments.data.filter((payment) => payment.overdue).length
  return [
    row('The trial balance is zero', isSound ? 'yes' : 'no', isSound, '/finance/trial-balance'),
    row('Exceptions of chain and books', many(exceptions), none(exceptions), '/finance/exceptions'),
    row('Payments that are overdue', `${overdue}`, overdue === 0, '/finance/payments'),
    row('Payments under way', many(payments), true, '/finance/payments'),
    row('Adjustments to confirm', many(proposals), none(proposals), '/finance/adjustments'),
    row('Payments to sellers', on(outgoing), !outgoing.paused, '/finance/payments#switch'),
  ]
}

const on = ({ paused }: OutgoingJson): string => (paused ? 'paused' : 'on')

const row = (name: string, said: string, isGood: boolean, path: string) => ({
  name,
  said,
  isGood,
  path,
})

const many = ({ data, has_more: more }: Listed<unknown>): string =>
  `${data.length}${more ? ' and more' : ''}`

const none = ({ data }: Listed<unknown>): boolean => data.length === 0

function walletTable({ treasury, spend, gas, chain }: WalletsJson): Html {
  const known = (amount: number | null): Part => (amount === null ? 'not known' : money(amount))
  return html`<h2>Wallets of the house</h2>${
    chain === 'unavailable' &&
    html`<div class="box fair"><p>The chain cannot be asked right now.</p></div>`
  }${table(
    'Wallets',
    [
      { head: 'Wallet', cell: ({ name }) => name },
      { head: 'Address', cell: ({ wallet }) => html`<code>${wallet.address}</code>` },
      { head: 'On chain', number: true, cell: ({ wallet }) => known(wallet.chain_microdollars) },
      {
        head: 'In the books',
        number: true,
        cell: ({ wallet }) => money(wallet.books_microdollars),
      },
      {
        head: 'In transit',
        number: true,
        cell: ({ wallet }) => money(wallet.in_transit_microdollars),
      },
      {
        head: 'Difference',
        number: true,
        cell: ({ wallet }) => known(wallet.difference_microdollars),
      },
    ],
    [
      { name: 'Treasury', wallet: treasury },
      { name: 'Spend', wallet: spend },
    ],
  )}${
    gas !== null &&
    html`<p class="small muted">Gas: ${count(gas.books_gwei)} gwei in the books${
      gas.low === true && html` <span class="badge bad">low</span>`
    }.</p>`
  }`
}
