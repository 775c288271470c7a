import type { Pool } from 'pg'
import type { Ledger } from '../../core/ledger/ledger.ts'
import { IN_TRANSIT, SPEND, TREASURY } from '../../core/ledger/postings.ts'
import { priceTag } from '../../core/money.ts'
import type { Hex } from '../../core/payments/chain/asset.ts'
import type { Chain } from '../../core/payments/chain/chain.ts'
import { newestRun } from '../../core/reconciliation/range.ts'
import { countOpenPayments } from './close-payments.ts'

interface DivergenceDeps {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly chain: Chain
  readonly wallets: { readonly treasury: Hex; readonly spend: Hex }
}

/**
 * Compares the chain of a sandbox with its ledger, with a few queries: the last reconciled block,
 * the newest received payment, and the balances of the platform wallets unless payments are open.
 * @returns a sentence about the first difference, which a restored or lost state explains
 */
export async function findDivergence(deps: DivergenceDeps): Promise<string | undefined> {
  for (const find of [differentBlock, missingPayment, differentBalance]) {
    const difference = await find(deps)
    if (difference !== undefined) return difference
  }
  return undefined
}

type Finder = (deps: DivergenceDeps) => Promise<string | undefined>

const differentBlock: Finder = async ({ pool, chain, wallets }) => {
  const wallet = 'treasury'
  const run = await newestRun(pool, { wallet, address: wallets[wallet].toLowerCase() as Hex })
  if (!run || (await chain.block(run.toBlock))?.hash === run.hash) return undefined
  return `The chain does not have the block ${run.toBlock} that the ledger was compared with.`
}

const missingPayment: Finder = async ({ pool, chain }) => {
  const { rows } = await pool.query<{ transaction: Hex; amount: bigint }>(
    `SELECT transaction, amount FROM hub.payment_claim
     WHERE state IN ('settled', 'confirmed') AND transaction IS NOT NULL
       AND claimed_at > coalesce((SELECT max(at) FROM hub.audit WHERE act = 'chain.reset'),
         '-infinity')
     ORDER BY claimed_at DESC LIMIT 1`,
  )
  const [newest] = rows
  if (!newest || (await chain.minedTransaction(newest.transaction))) return undefined
  const { transaction, amount } = newest
  return `The chain does not have the newest payment of ${priceTag(amount)} (${transaction}).`
}

const WALLET_ACCOUNTS = { treasury: [TREASURY, IN_TRANSIT], spend: [SPEND] } as const

const differentBalance: Finder = async ({ pool, ledger, chain, wallets }) => {
  const { received, sent, payouts } = await countOpenPayments(pool)
  if (received + sent + payouts > 0) return undefined
  for (const wallet of ['treasury', 'spend'] as const) {
    const onChain = await chain.balanceOf(wallets[wallet])
    let held = 0n
    for (const account of WALLET_ACCOUNTS[wallet]) held -= await ledger.balance(account)
    if (held === onChain) continue
    return (
      `The ${wallet} wallet holds ${priceTag(onChain)} on the chain ` +
      `and ${priceTag(held)} in the ledger.`
    )
  }
  return undefined
}
