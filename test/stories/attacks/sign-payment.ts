import { randomBytes } from 'node:crypto'
import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from '@x402/core/http'
import type { LocalAccount } from 'viem'
import { type Hex, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import type { ApiResponse } from '../../support/ask.ts'

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

const FIELDS = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const
const SECONDS = 120

/** Signs PAYMENT-SIGNATURE for the offer of a 402, with optional flaws. */
export async function signPayment(
  account: LocalAccount,
  { headers }: ApiResponse,
  now: Date,
  { signed = {}, domain = {}, accepted = {}, sent = {} }: PaymentFlaws = {},
): Promise<string> {
  const [offered] = decodePaymentRequiredHeader(String(headers['payment-required'])).accepts
  if (!offered) throw new Error('the response contains no offer')
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
  const { name, version, chainId, address } = USDC_BASE
  const signature = await account.signTypedData({
    domain: { name, version, chainId, verifyingContract: address, ...domain },
    types: { TransferWithAuthorization: FIELDS },
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
