import { expect } from 'chai'
import type { Pool } from 'pg'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import type { Chain } from '../../../core/payments/chain/chain.ts'

/** Everybody's money at one moment, in microdollars: of the ledger, and of the chain. */
export interface Books {
  /** Credits of all keys. */
  readonly credits: bigint
  readonly holds: bigint
  /** What providers, the house and its commission have earned. */
  readonly earned: bigint
  /** Charged for sellers, and not seen on the chain yet. */
  readonly transit: bigint
  /** The spend wallet, and what was received, as the ledger has them. */
  readonly spend: bigint
  readonly received: bigint
  /** On the chain: the spend wallet, the treasury, and all sellers together. */
  readonly spendOnChain: bigint
  readonly treasuryOnChain: bigint
  readonly sellersOnChain: bigint
}

export interface BookPorts {
  readonly pool: Pool
  readonly chain: Chain
  readonly wallets: {
    readonly spend: Hex
    readonly treasury: Hex
    readonly sellers: readonly Hex[]
  }
}

/** Accounts by the member that sums them up; the assets of the house are debit balances. */
const ACCOUNTS = {
  credits: [/^liabilities:agents:/, 1n],
  holds: [/^liabilities:holds$/, 1n],
  earned: [/^(liabilities:providers|income):/, 1n],
  transit: [/^liabilities:x402-out:in-transit$/, 1n],
  spend: [/^assets:usdc:base:spend$/, -1n],
  received: [/^assets:usdc:base:(treasury|in-transit)$/, -1n],
} as const satisfies Partial<Record<keyof Books, readonly [pattern: RegExp, sign: bigint]>>

export async function booksOf({ pool, chain, wallets }: BookPorts): Promise<Books> {
  const sellers = wallets.sellers.map((wallet) => chain.balanceOf(wallet))
  const [sums, spendOnChain, treasuryOnChain, ...got] = await Promise.all([
    sumsOf(pool),
    chain.balanceOf(wallets.spend),
    chain.balanceOf(wallets.treasury),
    ...sellers,
  ])
  const sellersOnChain = got.reduce((all, each) => all + each, 0n)
  return { ...sums, spendOnChain, treasuryOnChain, sellersOnChain }
}

type Sums = Pick<Books, keyof typeof ACCOUNTS>

async function sumsOf(pool: Pool): Promise<Sums> {
  const { rows } = await pool.query<{ code: string; balance: bigint }>(
    `SELECT a.code, sum(b.balance)::bigint AS balance FROM ledger.account a
     JOIN ledger.balance b ON b.account = a.id GROUP BY a.code`,
  )
  const sums = Object.entries(ACCOUNTS).map(([name, [pattern, sign]]) => {
    const some = rows.filter(({ code }) => pattern.test(code))
    return [name, some.reduce((sum, { balance }) => sum + balance, 0n) * sign]
  })
  return Object.fromEntries(sums) as Sums
}

/** What changed between two moments. */
export const change = (before: Books, after: Books): Books =>
  Object.fromEntries(
    Object.entries(after).map(([name, value]) => [name, value - before[name as keyof Books]]),
  ) as unknown as Books

/**
 * That no money came from nowhere or went nowhere, once nothing is open: all that was given to the
 * hub is somebody's credits, somebody's earnings, or on the chain with the sellers who were paid.
 * @param granted credits that were booked without the chain
 */
export function expectConserved(now: Books, granted: bigint): void {
  const { credits, holds, earned, transit, spend, received } = now
  const { spendOnChain, treasuryOnChain, sellersOnChain } = now
  expect(holds, 'holds that are open').to.equal(0n)
  expect(transit, 'charged and not on the chain').to.equal(0n)
  expect(-spendOnChain, 'what the spend wallet lost is what sellers got').to.equal(sellersOnChain)
  expect(spend, 'the spend wallet in the books').to.equal(spendOnChain)
  expect(received, 'received in the books').to.equal(treasuryOnChain + granted)
  const given = granted + treasuryOnChain
  expect(credits + earned + sellersOnChain, 'what was given to the hub').to.equal(given)
}

/** That meanwhile nothing is on the chain for which no caller was charged, or is held. */
export function expectCovered({ holds, transit, spendOnChain, spend }: Books): void {
  const outside = spend - spendOnChain // left, and not booked as seen yet
  expect(outside <= holds + transit, `${outside} left; ${holds} held, ${transit} charged`).to.equal(
    true,
  )
}
