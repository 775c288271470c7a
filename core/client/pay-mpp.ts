import type { LocalAccount } from 'viem'
import { z } from 'zod'
import { systemClock } from '../clock.ts'
import { micros } from '../money.ts'
import { USDC_BASE } from '../payments/chain/asset.ts'
import { signAuthorization } from '../payments/chain/authorization.ts'
import { PaymentTermsError } from '../payments/paying/terms-error.ts'
import { challengeHash, parseChallenge } from '../payments/receiving/mpp-challenges.ts'
import { address, uint256 } from '../payments/receiving/transfer-fields.ts'
import type { PaymentLimit } from './pay.ts'
import type { HubResponse } from './transport.ts'

/** Terms of the method `evm`, intent `charge`. */
const Request = z.object({
  amount: uint256.refine((text) => text !== '0'),
  currency: address,
  recipient: address,
  methodDetails: z.object({
    chainId: z.number(),
    credentialTypes: z.array(z.string()).exactOptional(),
  }),
})

/**
 * Signs the header that pays the MPP challenge of a hub: a transfer of USDC on Base (EIP-3009), for
 * the requested host, within the limit. Undefined if the 402 has no such challenge.
 * @throws PaymentTermsError
 */
export async function createMppHeader(
  account: Pick<LocalAccount, 'address' | 'signTypedData'>,
  { headers }: Pick<HubResponse, 'headers'>,
  { host, maxAmount, lifetimeSeconds = 60n }: PaymentLimit,
): Promise<Readonly<Record<string, string>> | undefined> {
  const challenge = parseChallenge(String(headers['www-authenticate'] ?? ''))
  if (!challenge) return undefined
  const { amount, recipient: to } = readTerms(challenge.request)
  const isHost = URL.parse(`https://${challenge.realm}`)?.hostname === host
  if (!isHost) throw new PaymentTermsError('resource')
  if (to.toLowerCase() === account.address.toLowerCase()) throw new PaymentTermsError('own_wallet')
  if (amount > maxAmount) throw new PaymentTermsError('above_max', { price: amount })
  const now = BigInt(systemClock.now().getTime()) / 1_000n
  const expires = BigInt(Date.parse(challenge.expires)) / 1_000n
  if (expires <= now) throw new PaymentTermsError('timeout')
  const validBefore = expires < now + lifetimeSeconds ? expires : now + lifetimeSeconds
  const nonce = challengeHash(challenge)
  const transfer = { from: account.address, to, value: amount, validBefore, nonce }
  const { signature, authorization } = await signAuthorization(account, transfer)
  const credential = {
    challenge,
    payload: { type: 'authorization', signature, ...authorization },
    source: `did:pkh:${USDC_BASE.network}:${account.address}`,
  }
  const value = Buffer.from(JSON.stringify(credential)).toString('base64url')
  return { [(challenge.header ?? 'Authorization').toLowerCase()]: `Payment ${value}` }
}

function readTerms(encoded: string) {
  const parsed = Request.safeParse(parseJson(encoded))
  if (!parsed.success) throw new PaymentTermsError('malformed_offer')
  const { amount, currency, recipient, methodDetails } = parsed.data
  const { chainId, credentialTypes = ['authorization'] } = methodDetails
  if (chainId !== USDC_BASE.chainId) throw new PaymentTermsError('network')
  if (currency.toLowerCase() !== USDC_BASE.address.toLowerCase()) {
    throw new PaymentTermsError('asset')
  }
  if (!credentialTypes.includes('authorization')) throw new PaymentTermsError('scheme')
  return { amount: micros(BigInt(amount)), recipient }
}

function parseJson(encoded: string): unknown {
  try {
    return JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'))
  } catch {
    return undefined
  }
}
