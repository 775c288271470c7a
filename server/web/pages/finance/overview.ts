import { z } from 'zod'
import type { AdjustmentJson } from '../../../rest/finance-adjustments.ts'
import type { TrialBalanceJson } from '../../../rest/finance-books.ts'
import type { OutgoingJson } from '../../../rest/finance-outgoing.ts'
import type { PaymentJson } from '../../../rest/finance-payments.ts'
import type { ExceptionJson } from '../../../rest/finance-reconciliation.ts'
import type { WalletsJson } from '../../../rest/finance-wallets.ts'
import type { Listed } from '../../../rest/paging.ts'
import { FINANCE } from '../../areas.ts'
import { type Html, html } from '../../html.ts'
import { type AnyPage, type PageRequest, page } from '../../page.ts'
import { cardTable, hex, table } from '../../table.ts'
import { units } from './parts.ts'

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

interface Wallet {
  readonly name: string
  readonly asset: 'USDC' | 'GWEI'
  readonly address: string
  readonly chain: number | null
  readonly books: number
  readonly transit: number | null
  readonly difference: number | null
}

const usdc = (name: string, wallet: WalletsJson['treasury']): Wallet => ({
  name,
  asset: 'USDC',
  address: wallet.address,
  chain: wallet.chain_microdollars,
  books: wallet.books_microdollars,
  transit: wallet.in_transit_microdollars,
  difference: wallet.difference_microdollars,
})

const gwei = (gas: NonNullable<WalletsJson['gas']>): Wallet => ({
  name: 'Gas',
  asset: 'GWEI',
  address: gas.address,
  chain: gas.chain_gwei,
  books: gas.books_gwei,
  transit: null,
  difference: gas.difference_gwei,
})

function walletTable({ treasury, spend, gas, chain }: WalletsJson): Html {
  const wallets = [usdc('Treasury', treasury), usdc('Spend', spend), ...(gas ? [gwei(gas)] : [])]
  const amount = (of: (wallet: Wallet) => number | null) => (wallet: Wallet) => {
    const value = of(wallet)
    return value === null ? '–' : units(value, wallet.asset)
  }
  return html`<h2>Wallets of the house</h2>${
    chain === 'unavailable' &&
    html`<div class="box fair"><p>The chain cannot be asked right now.</p></div>`
  }${
    gas?.low === true &&
    html`<div class="box bad"><p>The gas wallet runs low: send ETH to it, and book that as a
<a href="/finance/transfers">transfer</a>.</p></div>`
  }${cardTable(
    'Wallets',
    [
      { head: 'Wallet', cell: ({ name }) => name },
      { head: 'Address', cell: ({ address }) => hex(address) },
      { head: 'On chain', number: true, cell: amount(({ chain: held }) => held) },
      { head: 'In the books', number: true, cell: amount(({ books }) => books) },
      { head: 'Of it in transit', number: true, cell: amount(({ transit }) => transit) },
      { head: 'Chain less books', number: true, cell: amount(({ difference }) => difference) },
      { head: 'Asset', cell: ({ asset }) => asset },
    ],
    wallets,
  )}<p class="small muted">Payments that are under way make for some of a difference; what nothing
explains is an <a href="/finance/exceptions">exception</a>.</p>`
}
