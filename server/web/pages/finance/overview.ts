import { z } from 'zod'
import type { OverviewJson } from '../../../rest/finance/overview.ts'
import type { WalletsJson } from '../../../rest/finance/wallets.ts'
import { FINANCE } from '../../areas.ts'
import { count } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { type AnyPage, page } from '../../page.ts'
import { cardTable, hex, table } from '../../table.ts'
import { units } from './parts.ts'

/** `/finance`: what waits for somebody, and what the wallets of the house hold. */
export const financePage = (): AnyPage =>
  page({
    path: '/finance',
    person: true,
    query: z.object({}),
    show: async ({ ask }) => {
      const [waiting, wallets] = await Promise.all([
        ask<OverviewJson>('GET /v1/finance/overview'),
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
          looksAt(waiting),
        )}${walletTable(wallets)}`,
      }
    },
  })

/** What may wait for somebody, and whether it does. */
const looksAt = (waiting: OverviewJson) => [
  row('The trial balance is zero', yes(waiting.sound), waiting.sound, '/finance/trial-balance'),
  toDo('Exceptions of chain and books', waiting.exceptions, '/finance/exceptions'),
  toDo('Payments that are overdue', waiting.payments_overdue, '/finance/payments'),
  row('Payments under way', count(waiting.payments), true, '/finance/payments'),
  toDo('Adjustments to confirm', waiting.adjustments, '/finance/adjustments'),
  row('Payments to sellers', on(waiting), !waiting.outgoing_paused, '/finance/payments#switch'),
]

const yes = (isSo: boolean): string => (isSo ? 'yes' : 'no')
const on = (waiting: OverviewJson): string => (waiting.outgoing_paused ? 'paused' : 'on')

const row = (name: string, said: string, isGood: boolean, path: string) => ({
  name,
  said,
  isGood,
  path,
})

/** Something of which there should be none. */
const toDo = (name: string, found: number, path: string) =>
  row(name, count(found), found === 0, path)

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
