import { parseOffer } from '../../../../core/payments/paying/offer.ts'
import { chooseTerms, type TermsPolicy } from '../../../../core/payments/paying/terms.ts'
import { PaymentTermsError } from '../../../../core/payments/paying/terms-error.ts'

export const PAY_TO = '0x5d6dF6b10C54617dac4Bf9993ad9fA384b7B36d3'
export const OTHER = '0x394e81DA28799b578620803772FAeE403dE2d3f6'
export const OURS = '0x742d35Cc6634C0532925a3b844Bc454e4438f44e'
export const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'

export const V2 = {
  scheme: 'exact',
  network: 'eip155:8453',
  amount: '3000',
  asset: USDC,
  payTo: PAY_TO,
  maxTimeoutSeconds: 300,
  extra: { name: 'USD Coin', version: '2' },
}
const { amount: _, ...rest } = V2
const URL_V1 = 'https://seller.test/x'
export const V1 = { ...rest, network: 'base', maxAmountRequired: '2000', resource: URL_V1 }
export const POLICY: TermsPolicy = { host: 'seller.test', maxAmount: 10_000n, ownWallets: [OURS] }

export type Json = Record<string, unknown>
export const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')
export const none = Buffer.alloc(0)
export const header = <T extends string | string[]>(value: T, body = none) => ({
  headers: { 'payment-required': value },
  body,
})
export const v2 = (accepts: unknown, more: Json = {}) =>
  header(base64({ x402Version: 2, resource: { url: 'https://seller.test/x' }, accepts, ...more }))
export const v1 = (accepts: unknown, more: Json = {}) => ({
  headers: {},
  body: Buffer.from(JSON.stringify({ x402Version: 1, accepts, error: 'pay', ...more })),
})
export type Answer = Parameters<typeof parseOffer>[0]

export const choose = (answer: Answer, policy: Partial<TermsPolicy> = {}) =>
  chooseTerms(parseOffer(answer), { ...POLICY, ...policy })

/** Returns the error that refuses an offer. */
export function refusal(answer: Answer, policy: Partial<TermsPolicy> = {}): PaymentTermsError {
  try {
    choose(answer, policy)
  } catch (error) {
    if (error instanceof PaymentTermsError) return error
    throw error
  }
  throw new Error('accepted')
}
