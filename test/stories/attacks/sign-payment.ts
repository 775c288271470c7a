import { randomBytes } from 'node:crypto'
import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from '@x402/core/http'
import type { LocalAccount } from 'viem'
import { type Asset, type Hex, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import { TRANSFER_TYPES } from '../../../core/payments/chain/authorization.ts'
import type { ApiResponse } from '../../support/ask.ts'
import { THIEF } from './sellers.ts'

/** Flaws of a payment. */
export interface PaymentFlaws {
  /** Changes of the signed authorization; `seconds` is its validity. */
  readonly signed?: {
    readonly to?: Hex
    readonly value?: bigint
    readonly validAfter?: bigint
    readonly seconds?: number
    readonly nonce?: Hex
  }
  /** Changes of the signed EIP-712 domain. */
  readonly domain?: { readonly name?: string; readonly chainId?: number }
  /** Changes of the offer that is sent back. */
  readonly accepted?: Readonly<Record<string, unknown>>
  /** Changes of the sent authorization after signing. */
  readonly sent?: Readonly<Record<string, string>>
}

/** Returns every flaw of a payment of `cost` microdollars, by title. */
export const flawsOf = (cost: bigint): readonly (readonly [string, PaymentFlaws])[] => [
  ['another payee', { signed: { to: THIEF } }],
  ['another payee, in the offer too', { signed: { to: THIEF }, accepted: { payTo: THIEF } }],
  ['another network', { accepted: { network: 'eip155:1' } }],
  ['another token', { accepted: { asset: THIEF } }],
  ['an amount one unit too low', { signed: { value: cost - 1n } }],
  [
    'an amount one unit too low, in the offer too',
    { signed: { value: cost - 1n }, accepted: { amount: String(cost - 1n) } },
  ],
  ['an expiry in the past', { signed: { seconds: -1 } }],
  ['an expiry before the work could be done', { signed: { seconds: 25 } }],
  ['an expiry years away', { signed: { seconds: 3_000_000_000 } }],
  ['a start in the future', { signed: { validAfter: 1n << 40n } }],
  ['the domain of another token', { domain: { name: 'USDC' } }],
  ['the domain of another chain', { domain: { chainId: 1 } }],
  ['a payer who did not sign', { sent: { from: THIEF } }],
  ['another nonce than the signed one', { sent: { nonce: `0x${'11'.repeat(32)}` } }],
]

const SECONDS = 120

/** Signs PAYMENT-SIGNATURE for the offer of a 402 on one network, with optional flaws. */
export async function signPayment(
  account: LocalAccount,
  { headers }: ApiResponse,
  now: Date,
  { signed = {}, domain = {}, accepted = {}, sent = {} }: PaymentFlaws = {},
  asset: Asset = USDC_BASE,
): Promise<string> {
  const { accepts } = decodePaymentRequiredHeader(String(headers['payment-required']))
  const offered = accepts.find(({ network }) => network === asset.network)
  if (!offered) throw new Error(`the response contains no offer on ${asset.network}`)
  const { seconds = SECONDS, ...change } = signed
  const message = {
    from: account.address,
    to: offered.payTo as Hex,
    value: BigInt(offered.amount),
    validAfter: 0n,
    validBefore: BigInt(now.getTime()) / 1_000n + BigInt(seconds),
    nonce: `0x${randomBytes(32).toString('hex')}` as const,
    ...change,
  }
  const { name, version, chainId, address } = asset
  const signature = await account.signTypedData({
    domain: { name, version, chainId, verifyingContract: address, ...domain },
    types: TRANSFER_TYPES,
    primaryType: 'TransferWithAuthorization',
    message,
  })
  const texts = Object.entries(message).map(([key, value]) => [key, String(value)])
  return encodePaymentSignatureHeader({
    x402Version: 2,
    accepted: { ...offered, ...accepted },
    payload: { signature, authorization: { ...Object.fromEntries(texts), ...sent } },
  })
}
