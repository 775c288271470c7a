import { json, MIN_TOP_UP } from '../../core/money.ts'
import { PAYMENT_AUTHORIZATION } from '../../core/payments/receiving/mpp-challenges.ts'

/** Ways in which a caller may pay for an endpoint. */
export interface WaysToPay {
  readonly hasKey: boolean
  /** True if x402 may pay per request. */
  readonly isX402: boolean
  /** True if x402 pays the usage by the scheme `upto`, which MPP lacks. @defaultValue false */
  readonly isMetered?: boolean
  /** True if a wallet may sign a challenge to spend its credits. */
  readonly maySignIn: boolean
}

/** Lists the ways for programs: the member `next_steps` of a 402. */
export const nextSteps = (ways: WaysToPay): readonly object[] => [
  ...(ways.isX402 ? [{ action: 'pay_x402', header: 'PAYMENT-SIGNATURE' }] : []),
  ...(ways.isX402 && !ways.isMetered
    ? [{ action: 'pay_mpp', header: ways.hasKey ? PAYMENT_AUTHORIZATION : 'Authorization' }]
    : []),
  ...(ways.maySignIn ? [{ action: 'sign_in', header: 'SIGN-IN-WITH-X' }] : []),
  {
    action: 'topup',
    method: 'POST',
    href: '/v1/credits/purchase',
    min_microdollars: json(MIN_TOP_UP),
  },
  ...(ways.hasKey ? [] : [{ action: 'register', method: 'GET', href: '/v1/register/challenge' }]),
]

/** Advises only what this caller and endpoint allow. */
export function paymentAdvice({ hasKey, isX402, isMetered, maySignIn }: WaysToPay): string {
  const buy = hasKey
    ? 'buy credits: POST /v1/credits/purchase'
    : 'register for a key, GET /v1/register/challenge, and buy credits, POST /v1/credits/purchase'
  if (isX402) return `Pay this request via ${isMetered ? 'x402' : 'x402 or MPP'}, or ${buy}.`
  return maySignIn && !hasKey
    ? `Sign the challenge with a wallet that has credits, or ${buy}.`
    : `${buy[0]!.toUpperCase()}${buy.slice(1)}.`
}
