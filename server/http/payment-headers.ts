import { Fault } from '../../core/errors.ts'
import {
  isMppCredential,
  PAYMENT_AUTHORIZATION,
} from '../../core/payments/receiving/mpp-challenges.ts'
import { encodeMppReceipt, mppReceiptOf } from '../../core/payments/receiving/mpp-receipt.ts'
import { receiptV1 } from '../../core/payments/receiving/version-1.ts'

type ReadHeader = (name: string) => string | undefined

/**
 * Reads the payment of a request: PAYMENT-SIGNATURE, or X-PAYMENT of version 1, or a credential of
 * MPP, in Payment-Authorization or in Authorization.
 * @throws Fault `duplicate_header` for payments by both protocols
 */
export function readPaymentHeader(header: ReadHeader): string | undefined {
  const x402 = header('payment-signature') ?? header('x-payment')
  const mpp = readMppCredential(header)
  if (x402 !== undefined && mpp !== undefined) {
    throw new Fault('duplicate_header', 'Send one payment, by x402 or by MPP.')
  }
  return x402 ?? mpp
}

/** Returns true if a request has a payment, whether or not it can be read. */
export const hasPaymentHeader = (header: ReadHeader): boolean =>
  (header('payment-signature') ?? header('x-payment') ?? readMppCredential(header)) !== undefined

function readMppCredential(header: ReadHeader): string | undefined {
  const authorization = header('authorization')
  const isMpp = authorization !== undefined && isMppCredential(authorization)
  return header(PAYMENT_AUTHORIZATION.toLowerCase()) ?? (isMpp ? authorization : undefined)
}

/**
 * Adds the receipt for clients that do not read PAYMENT-RESPONSE: X-PAYMENT-RESPONSE for those of
 * x402 version 1, Payment-Receipt for those of MPP.
 */
export function withReceipt<Headers extends Readonly<Record<string, string | string[]>>>(
  headers: Headers,
  header: ReadHeader,
): Headers {
  const response = headers['PAYMENT-RESPONSE']
  if (typeof response !== 'string') return headers
  if (header('x-payment') !== undefined) {
    return { ...headers, 'X-PAYMENT-RESPONSE': receiptV1(response) }
  }
  const receipt = readMppCredential(header) === undefined ? undefined : mppReceiptOf(response)
  return receipt ? { ...headers, 'Payment-Receipt': encodeMppReceipt(receipt) } : headers
}
