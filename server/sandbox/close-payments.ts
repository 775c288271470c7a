import type { Pool } from 'pg'
import type { Clock } from '../../core/clock.ts'
import type { Hex } from '../../core/payments/chain/asset.ts'
import type { Chain } from '../../core/payments/chain/chain.ts'
import { type ResolveDeps, resolvePayments } from '../../core/payments/operations/resolve.ts'
import type { PayoutDeps } from '../../core/payments/payouts/payout.ts'
import { sendPayouts } from '../../core/payments/payouts/send.ts'

/** Payments without a final outcome, by kind. */
export interface OpenPayments {
  readonly received: number
  readonly sent: number
  readonly payouts: number
}

/** After the expiry of every authorization. */
const END_OF_TIME = new Date(8_640_000_000_000_000)
const endOfTime: Clock = { now: () => END_OF_TIME }
const LAST_BLOCK = 2n ** 62n

export async function countOpenPayments(pool: Pool): Promise<OpenPayments> {
  const { rows } = await pool.query<OpenPayments>(
    `SELECT
       (SELECT count(*)::integer FROM hub.payment_claim
        WHERE state IN ('claimed', 'pending', 'settled')) AS received,
       (SELECT count(*)::integer FROM hub.payment_intent
        WHERE state IN ('signed', 'unresolved', 'paid')) AS sent,
       (SELECT count(*)::integer FROM hub.payout WHERE state = 'started') AS payouts`,
  )
  return rows[0]!
}

/**
 * Closes the payments that were open on a lost chain, by the same rules and entries as always:
 * those with a known transaction count as made, all others and all payouts as expired. Holds are
 * released, charges that were not taken refunded, and payouts owed again.
 * @returns the payments that were open
 * @throws Error if some are still open
 */
export async function closeOpenPayments(
  pool: Pool,
  deps: ResolveDeps,
  payouts: PayoutDeps,
): Promise<OpenPayments> {
  const before = await countOpenPayments(pool)
  const chain = endedChain(deps.chain, await readKnownTransactions(pool))
  await resolvePayments({ ...deps, chain }, 0)
  await sendPayouts({ ...payouts, chain, clock: endOfTime }, undefined, 0)
  const { received, sent, payouts: started } = await countOpenPayments(pool)
  const open = received + sent + started
  if (open > 0) throw new Error(`${open} payments of the old chain could not be closed: try again`)
  return before
}

interface KnownPayment {
  readonly tx: Hex
  /** Microdollars that were taken. */
  readonly value: bigint
}

/** Reads the transactions of payments by nonce. Payouts are made again on the new chain. */
async function readKnownTransactions(pool: Pool): Promise<ReadonlyMap<string, KnownPayment>> {
  const { rows } = await pool.query<KnownPayment & { readonly nonce: string }>(
    `SELECT nonce, transaction AS tx, amount AS value FROM hub.payment_claim
       WHERE state IN ('pending', 'settled') AND transaction IS NOT NULL
     UNION ALL SELECT nonce, transaction, amount FROM hub.payment_intent
       WHERE state = 'paid' AND transaction IS NOT NULL`,
  )
  return new Map(rows.map(({ nonce, ...payment }) => [nonce, payment]))
}

/** The lost chain as far as it is known: final, and after the expiry of every authorization. */
const endedChain = (chain: Chain, known: ReadonlyMap<string, KnownPayment>): Chain => ({
  ...chain,
  head: async () => ({ number: LAST_BLOCK, time: END_OF_TIME }),
  authorizationState: async (_, nonce) => known.has(nonce),
  async authorizationOutcome(_, nonce) {
    const payment = known.get(nonce)
    if (!payment) return { outcome: 'unused', at: LAST_BLOCK, blockTime: END_OF_TIME }
    return { outcome: 'used', tx: payment.tx, block: 0n }
  },
  async permitOutcome({ nonce }) {
    const payment = known.get(nonce)
    if (!payment) return { outcome: 'unused', blockTime: END_OF_TIME }
    return { outcome: 'used', ...payment, block: 0n }
  },
  transferEvidence: async ({ nonce = '', tx }) =>
    known.get(nonce)?.tx === tx
      ? { found: 'confirmed', block: 0n, confirmations: LAST_BLOCK }
      : { found: 'missing' },
})
