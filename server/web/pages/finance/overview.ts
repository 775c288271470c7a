import type { AuditLineJson } from '../../../rest/admin/audit.ts'
import type { OverviewJson } from '../../../rest/finance/overview.ts'
import type { TrendsJson } from '../../../rest/finance/trends.ts'
import type { WalletsJson } from '../../../rest/finance/wallets.ts'
import type { ListPage } from '../../../rest/paging.ts'
import { formatCount, formatSecond } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { FINANCE_TABS } from '../../navigation.ts'
import { type AnyPage, page } from '../../page.ts'
import { cardTable, shortHash, table, timeAgo } from '../../table.ts'
import { entryPath, formatAmount } from './components.ts'
import { trendSummary } from './trends.ts'

const COMMANDS_SHOWN = '5'

/** `/finance`: pending work, figures of the month, and balances of the platform wallets. */
export const financePage = (): AnyPage =>
  page('/finance', {
    render: async ({ api }) => {
      const [pending, wallets, trends, commands] = await Promise.all([
        api<OverviewJson>('GET /v1/finance/overview'),
        api<WalletsJson>('GET /v1/finance/wallets', { query: { chain: 'recent' } }),
        api<TrendsJson>('GET /v1/finance/trends'),
        api<ListPage<AuditLineJson>>('GET /v1/admin/audit', {
          query: { role: 'operator', limit: COMMANDS_SHOWN },
        }),
      ])
      return {
        title: 'Finance',
        tabs: FINANCE_TABS,
        tab: 'Overview',
        main: html`<h1>Finance</h1><p class="lead">Every movement of money is a journal entry. All
figures here are derived from the journal.</p>${table(
          'Status',
          [
            { head: 'Check', cell: ({ name, path }) => html`<a href="${path}">${name}</a>` },
            {
              head: 'Status',
              cell: ({ status, isGood }) =>
                html`<span class="badge ${isGood ? 'good' : 'bad'}">${status}</span>`,
            },
          ],
          checks(pending),
        )}${trendSummary(trends.data)}${walletTable(wallets)}${commandTable(commands.data)}`,
      }
    },
  })

/** Latest acts of people with access to the database; they need no second person. */
const commandTable = (lines: readonly AuditLineJson[]): Html | false =>
  lines.length > 0 &&
  html`<h2>Changes from the command line</h2><p class="muted">Posted or changed with access
to the database, without a second person.</p>${cardTable(
    'Changes from the command line',
    [
      { head: 'Time', noWrap: true, cell: ({ at }) => timeAgo(at) },
      { head: 'Act', cell: ({ act }) => act },
      {
        head: 'Subject',
        cell: ({ act, subject }) =>
          act.startsWith('entry.') || act.startsWith('call.')
            ? html`<a href="${entryPath(subject)}"><code>${subject}</code></a>`
            : html`<code>${subject}</code>`,
      },
      {
        head: 'Author',
        cell: ({ name, via }) =>
          html`${name}${via !== null && html`<br><span class="small muted">${via}</span>`}`,
      },
      { head: 'Reason', cell: ({ reason }) => reason },
    ],
    lines,
  )}`

/** Rows of the status table. */
const checks = (pending: OverviewJson) => [
  row(
    'Trial balance is zero',
    pending.sound ? 'yes' : 'no',
    pending.sound,
    '/finance/trial-balance',
  ),
  row(
    'Ledger verification',
    pending.verification_failures.join('; ') || 'sound',
    pending.verification_failures.length === 0,
    '/status',
  ),
  backlog('Open exceptions', pending.exceptions, '/finance/exceptions'),
  backlog('Overdue payments', pending.payments_overdue, '/finance/payments'),
  row('Pending payments', formatCount(pending.payments), true, '/finance/payments'),
  backlog('Proposals to confirm', pending.adjustments, '/finance/adjustments'),
  row(
    'Changes from the command line, 30 days',
    formatCount(pending.commands),
    true,
    '/finance/audit?role=operator',
  ),
  backlog('Refused attempts, 30 days', pending.refusals, '/finance/audit?act=act.refuse'),
  backlog('Payouts to approve', pending.payouts_to_approve, '/finance/payouts'),
  row('Pending payouts', formatCount(pending.payouts_pending), true, '/finance/payouts'),
  row('Waiting payouts', formatCount(pending.payouts_waiting), true, '/finance/payouts'),
  row(
    'Payments to sellers',
    pending.outgoing_paused ? 'paused' : 'on',
    !pending.outgoing_paused,
    '/finance/payments#switch',
  ),
]

const row = (name: string, status: string, isGood: boolean, path: string) => ({
  name,
  status,
  isGood,
  path,
})

/** Row that is good if the count is 0. */
const backlog = (name: string, count: number, path: string) =>
  row(name, formatCount(count), count === 0, path)

interface Wallet {
  readonly name: string
  readonly asset: 'USDC' | 'GWEI'
  readonly address: string
  readonly chain: number | null
  readonly ledger: number
  readonly transit: number | null
  readonly difference: number | null
}

const usdcWallet = (name: string, wallet: WalletsJson['treasury']): Wallet => ({
  name,
  asset: 'USDC',
  address: wallet.address,
  chain: wallet.chain_microdollars,
  ledger: wallet.books_microdollars,
  transit: wallet.in_transit_microdollars,
  difference: wallet.difference_microdollars,
})

const gasWallet = (gas: NonNullable<WalletsJson['gas']>): Wallet => ({
  name: 'Gas',
  asset: 'GWEI',
  address: gas.address,
  chain: gas.chain_gwei,
  ledger: gas.books_gwei,
  transit: null,
  difference: gas.difference_gwei,
})

function walletTable({ treasury, spend, gas, chain, ...at }: WalletsJson): Html {
  const wallets = [
    usdcWallet('Treasury', treasury),
    usdcWallet('Spend', spend),
    ...(gas ? [gasWallet(gas)] : []),
  ]
  const amount = (amountOf: (wallet: Wallet) => number | null) => (wallet: Wallet) => {
    const value = amountOf(wallet)
    return value === null ? '–' : formatAmount(value, wallet.asset)
  }
  return html`<h2>Platform wallets</h2>${
    chain === 'unavailable' &&
    html`<div class="box fair"><p>The blockchain is currently unreachable. Balances on chain are
missing.</p></div>`
  }${
    gas?.low === true &&
    html`<div class="box bad"><p>The gas wallet is low. Send ETH to it, then post that as a
<a href="/finance/transfers">wallet transfer</a>.</p></div>`
  }${cardTable(
    'Wallets',
    [
      { head: 'Wallet', cell: ({ name }) => name },
      { head: 'Address', cell: ({ address }) => shortHash(address) },
      { head: 'On chain', number: true, cell: amount(({ chain: balance }) => balance) },
      { head: 'Ledger', number: true, cell: amount(({ ledger }) => ledger) },
      { head: 'In transit', number: true, cell: amount(({ transit }) => transit) },
      { head: 'Chain minus ledger', number: true, cell: amount(({ difference }) => difference) },
      { head: 'Asset', cell: ({ asset }) => asset },
    ],
    wallets,
  )}<p class="small muted">${
    at.block_time !== null &&
    html`On chain as of ${formatSecond(new Date(at.block_time))}, block ${String(at.block)}. `
  }Pending payments explain some differences. Unexplained ones are
<a href="/finance/exceptions">exceptions</a>.</p>`
}
