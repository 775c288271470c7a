import type { Ledger } from '../../ledger/ledger.ts'
import { type Micros, split } from '../../money.ts'
import type { Claim } from './claims.ts'

/**
 * Books a payment that was settled: credits to a key, or a call sold on the spot. The entry's id
 * is the claim's, so that whoever books it first, the request or the job that cleans up after a
 * crash, books it for both.
 * @param transaction hash of the transfer
 */
export async function bookPayment(
  ledger: Ledger,
  claim: Claim,
  transaction: string | undefined,
): Promise<void> {
  const amount = claim.amount as Micros
  const owner = await ledger.account(claim.payee)
  const event =
    claim.purpose === 'credits'
      ? ({ type: 'credits.purchased', credits: claim.payee, amount } as const)
      : ({
          type: 'call.sold',
          payee: claim.payee,
          paid: amount,
          commission: split(amount, claim.commissionBps).commission,
        } as const)
  const { payer, nonce } = claim.key
  const meta = { payer, nonce, ...(transaction === undefined ? {} : { transaction }) }
  const outcome = await ledger.post(event, { owner, id: claim.id, meta })
  if (outcome !== 'applied' && outcome !== 'replayed') {
    throw new Error(`payment ${claim.id} not booked: ${outcome}`)
  }
}
