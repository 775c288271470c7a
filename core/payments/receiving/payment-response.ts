import { getAddress } from 'viem'
import type { Claim } from './claim.ts'
import type { Offers } from './offers.ts'

/**
 * Builds PAYMENT-RESPONSE of a settled payment, with its signed receipt: the same value each time.
 * @param resource URL that was paid for
 */
export async function paymentResponseOf(
  { offers }: { readonly offers: Pick<Offers, 'signReceipt'> },
  { id: entry, key, amount, claimedAt: issuedAt }: Claim,
  transaction: string,
  resource: string,
): Promise<string> {
  const { network } = key
  const payer = getAddress(key.payer)
  const sale = { resource, network, payer, transaction, amount, entry, issuedAt }
  const extensions = await offers.signReceipt(sale)
  const response = {
    success: true,
    transaction,
    network,
    payer,
    amount: String(amount),
    ...(extensions && { extensions }),
  }
  return Buffer.from(JSON.stringify(response)).toString('base64')
}
