import { expect } from 'chai'
import type { Pool } from 'pg'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import type { Chain } from '../../../core/payments/chain/chain.ts'

/** All balances at one moment in microdollars, in the ledger and on the chain. */
export interface Balances {
  /** Credits of all keys. */
  readonly credits: bigint
  readonly holds: bigint
  /** Earnings of providers and the platform, including commission. */
  readonly earned: bigint
  /** Charged for sellers and not yet seen on the chain. */
  readonly transit: bigint
  /** Ledger balance of the spend wallet. */
  readonly spend: bigint
  readonly received: bigint
  /** Balances on the chain; `sellersOnChain` is the sum of all sellers. */
  readonly spendOnChain: bigint
  readonly treasuryOnChain: bigint
  readonly sellersOnChain: bigint
}

export interface BalancesDeps {
  readonly pool: Pool
  readonly chain: Chain
  readonly wallets: {
    readonly spend: Hex
    readonly treasury: Hex
    readonly sellers: readonly Hex[]
  }
}

/** Accounts summed by each member. Assets of the platform are debit balances. */
const ACCOUNTS = {
  credits: [/^liabilities:agents:/, 1n],
  holds: [/^liabilities:holds$/, 1n],
  earned: [/^(liabilities:providers|income):/, 1n],
  transit: [/^liabilities:x402-out:in-transit$/, 1n],
  spend: [/^assets:usdc:base:spend$/, -1n],
  received: [/^assets:usdc:base:(treasury|in-transit)$/, -1n],
} as const satisfies Partial<Record<keyof Balances, readonly [pattern: RegExp, sign: bigint]>>

export async function readBalances({ pool, chain, wallets }: BalancesDeps): Promise<Balances> {
  const sellers = wallets.sellers.map((wallet) => chain.balanceOf(wallet))
  const [sums, spendOnChain, treasuryOnChain, ...got] = await Promise.all([
    readLedgerBalances(pool),
    chain.balanceOf(wallets.spend),
    chain.balanceOf(wallets.treasury),
    ...sellers,
  ])
  const sellersOnChain = got.reduce((all, each) => all + each, 0n)
  return { ...sums, spendOnChain, treasuryOnChain, sellersOnChain }
}

type LedgerBalances = Pick<Balances, keyof typeof ACCOUNTS>

async function readLedgerBalances(pool: Pool): Promise<LedgerBalances> {
  const { rows } = await pool.query<{ code: string; balance: bigint }>(
    `SELECT a.code, sum(b.balance)::bigint AS balance FROM ledger.account a
     JOIN ledger.balance b ON b.account = a.id GROUP BY a.code`,
  )
  const sums = Object.entries(ACCOUNTS).map(([name, [pattern, sign]]) => {
    const some = rows.filter(({ code }) => pattern.test(code))
    return [name, some.reduce((sum, { balance }) => sum + balance, 0n) * sign]
  })
  return Object.fromEntries(sums) as LedgerBalances
}

/** Subtracts two balances. */
export const difference = (before: Balances, after: Balances): Balances =>
  Object.fromEntries(
    Object.entries(after).map(([name, value]) => [name, value - before[name as keyof Balances]]),
  ) as unknown as Balances

/**
 * Asserts that no money appeared or vanished once nothing is open: everything given to the hub is
 * credits, earnings or on the chain with the paid sellers.
 * @param granted credits posted without a chain transfer
 */
export function expectConserved(now: Balances, granted: bigint): void {
  const { credits, holds, earned, transit, spend, received } = now
  const { spendOnChain, treasuryOnChain, sellersOnChain } = now
  expect(holds, 'open holds').to.equal(0n)
  expect(transit, 'charged but not on the chain').to.equal(0n)
  expect(-spendOnChain, 'sellers received what the spend wallet lost').to.equal(sellersOnChain)
  expect(spend, 'spend wallet in the ledger').to.equal(spendOnChain)
  expect(received, 'received in the ledger').to.equal(treasuryOnChain + granted)
  const given = granted + treasuryOnChain
  expect(credits + earned + sellersOnChain, 'given to the hub').to.equal(given)
}

/** Asserts that every outgoing transfer on the chain is covered by a charge or a hold. */
export function expectCovered({ holds, transit, spendOnChain, spend }: Balances): void {
  const outside = spend - spendOnChain // sent but not yet confirmed in the ledger
  expect(outside <= holds + transit, `${outside} left; ${holds} held, ${transit} charged`).to.equal(
    true,
  )
}
