import { getAddress } from 'viem'
import type { Claim } from './claim.ts'
import type { Offers, Settlement } from './offers.ts'

/**
 * Builds PAYMENT-RESPONSE of a settled payment, with its signed receipt.
 * @param resource URL that was paid for
 * @param extensions those of the facilitator, which are not stored: a repeated response has none
 */
export async function paymentResponseOf(
  { offers }: { readonly offers: Pick<Offers, 'signReceipt'> },
  { id: entry, key, amount, claimedAt: issuedAt }: Claim,
  transaction: string,
  resource: string,
  extensions?: Settlement['extensions'],
): Promise<string> {
  const { network } = key
  const payer = getAddress(key.payer)
  const sale = { resource, network, payer, transaction, amount, entry, issuedAt }
  const receipt = await offers.signReceipt(sale)
  const response = {
    success: true,
    transaction,
    network,
    payer,
    amount: String(amount),
    ...((extensions ?? receipt) && { extensions: { ...extensions, ...receipt } }),
  }
  return Buffer.from(JSON.stringify(response)).toString('base64')
}
