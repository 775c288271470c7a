import { isValidPaymentId, PAYMENT_IDENTIFIER } from '@x402/extensions/payment-identifier'
import { isJsonObject, objectMember } from '../../json.ts'
import { BadPayment } from './payment.ts'

/**
 * Returns the id that the buyer gave a payment by the x402 extension `payment-identifier`.
 * Undefined for an echo of the offer, which names none.
 * @throws BadPayment unless it has 16 to 128 letters, digits, hyphens and underscores
 */
export function paymentIdentifierOf(payment: unknown): string | undefined {
  const extensions = objectMember(isJsonObject(payment) ? payment : {}, 'extensions')
  const { id } = objectMember(objectMember(extensions, PAYMENT_IDENTIFIER), 'info')
  if (id === undefined) return undefined
  if (typeof id === 'string' && isValidPaymentId(id)) return id
  const message = 'The id of payment-identifier must be 16 to 128 letters, digits, - and _.'
  throw new BadPayment('malformed_identifier', message)
}
