import type { Ledger } from '../../ledger/ledger.ts'
import { type Micros, split } from '../../money.ts'
import { postOrThrow } from '../post-entry.ts'
import type { Claim } from './claim.ts'

/**
 * Books a payment that was settled: credits to a key, or a call sold on the spot. The entry's id
 * is the claim's, so that whoever books it first, the request or the job that cleans up after a
 * crash, books it for both.
 * @param transaction hash of the transfer
 */
export async function postPayment(
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
  await postOrThrow(ledger, event, { owner, id: claim.id, meta })
}
