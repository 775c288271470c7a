import { receiptV1 } from '../../core/payments/receiving/version-1.ts'

type ReadHeader = (name: string) => string | undefined

/** Reads the x402 payment of a request: PAYMENT-SIGNATURE, or X-PAYMENT of version 1. */
export const readPaymentHeader = (header: ReadHeader): string | undefined =>
  header('payment-signature') ?? header('x-payment')

/** Adds X-PAYMENT-RESPONSE for clients of version 1, which do not read PAYMENT-RESPONSE. */
export function withReceiptV1<Headers extends Readonly<Record<string, string | string[]>>>(
  headers: Headers,
  header: ReadHeader,
): Headers {
  const receipt = headers['PAYMENT-RESPONSE']
  if (typeof receipt !== 'string' || header('x-payment') === undefined) return headers
  return { ...headers, 'X-PAYMENT-RESPONSE': receiptV1(receipt) }
}
