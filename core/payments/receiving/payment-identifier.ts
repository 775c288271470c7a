import { isJsonObject, objectMember } from '../../json.ts'
import { BadPayment } from './payment.ts'

export const PAYMENT_IDENTIFIER = 'payment-identifier'
const ID = /^[a-zA-Z0-9_-]+$/
const LENGTH_MIN = 16
const LENGTH_MAX = 128

/**
 * Returns the id that the buyer gave a payment by the x402 extension `payment-identifier`.
 * Undefined for an echo of the offer, which names none.
 * @throws BadPayment unless it has 16 to 128 letters, digits, hyphens and underscores
 */
export function paymentIdentifierOf(payment: unknown): string | undefined {
  const extensions = objectMember(isJsonObject(payment) ? payment : {}, 'extensions')
  const { id } = objectMember(objectMember(extensions, PAYMENT_IDENTIFIER), 'info')
  if (id === undefined) return undefined
  if (typeof id === 'string' && isValidId(id)) return id
  const message = 'The id of payment-identifier must be 16 to 128 letters, digits, - and _.'
  throw new BadPayment('malformed_identifier', message)
}

const isValidId = (id: string): boolean =>
  id.length >= LENGTH_MIN && id.length <= LENGTH_MAX && ID.test(id)

/** Extension by which buyers may give a payment an id. Lazy: the package is slow to load. */
export async function namedPayments(): Promise<Record<string, unknown>> {
  const { declarePaymentIdentifierExtension } = await import('@x402/extensions/payment-identifier')
  return { [PAYMENT_IDENTIFIER]: declarePaymentIdentifierExtension() }
}
