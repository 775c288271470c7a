import type { Payment } from '../../core/payments/receiving/payment.ts'
import type { ExactPayload } from '../../core/payments/receiving/transfer-fields.ts'

/** Authorization of a payment by the scheme `exact`. @throws Error for another one */
export function authorizationOf(payload: Payment['payload']): ExactPayload['authorization'] {
  if ('authorization' in payload) return payload.authorization
  throw new Error('the payment is a permit')
}
