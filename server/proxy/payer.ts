import type { Caller } from '../../core/identity/keys.ts'
import { BadPayment, paymentKey } from '../../core/payments/offers.ts'
import { readPayment } from '../../core/payments/payment.ts'
import type { CallRequest, Keyless } from './call.ts'

/**
 * Who pays, as plugins and call records see it: a key, or the wallet of a payment. An address on
 * the network is neither, and nobody's business.
 */
export function payerOf(caller: Caller | Keyless, { payment }: CallRequest): string {
  if (caller.keyId !== null) return caller.keyId
  if (payment === undefined) return 'nobody'
  try {
    return `x402:${paymentKey(readPayment(payment)).payer}`
  } catch (error) {
    if (error instanceof BadPayment) return 'nobody' // of a call that costs nothing
    throw error
  }
}
