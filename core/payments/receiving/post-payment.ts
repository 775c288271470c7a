import type { Ledger } from '../../ledger/ledger.ts'
import { type Micros, split } from '../../money.ts'
import { assetOf } from '../chain/asset.ts'
import { postEntry } from '../post-entry.ts'
import type { Claim } from './claim.ts'

/**
 * Posts a settled payment: credits for a key, or a call paid per request. The entry has the id of
 * the claim, so the request and the job that runs after a crash post it once.
 * @param transaction hash of the transfer
 */
export async function postPayment(
  ledger: Ledger,
  claim: Claim,
  transaction: string | undefined,
): Promise<void> {
  const amount = claim.amount as Micros
  const owner = await ledger.account(claim.payee)
  const { v1Network: network } = assetOf(claim.key.network)
  const event =
    claim.purpose === 'credits'
      ? ({ type: 'credits.purchased', credits: claim.payee, amount, network } as const)
      : ({
          type: 'call.sold',
          payee: claim.payee,
          paid: amount,
          commission: split(amount, claim.commissionBps).commission,
          network,
        } as const)
  const { payer, nonce } = claim.key
  const meta = {
    payer,
    nonce,
    ...(event.type === 'call.sold' && { bps: claim.commissionBps }),
    ...(transaction !== undefined && { transaction }),
  }
  await postEntry(ledger, event, { owner, id: claim.id, meta })
}
