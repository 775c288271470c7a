import type { SettleResponse } from '@x402/core/types'
import { isJsonObject, type JsonObject, objectMember } from '../../json.ts'
import { MPP_TERMS } from './mpp-challenges.ts'

const parse = (text: string | undefined, encoding: 'base64' | 'base64url'): unknown => {
  return JSON.parse(Buffer.from(text ?? '', encoding).toString('utf8'))
}

/**
 * Builds the receipt of a payment by MPP from its signed PAYMENT-RESPONSE, so that both say the
 * same however often they are sent. Undefined for a payment that is not settled, or
 * without a signed receipt.
 */
export function mppReceiptOf(paymentResponse: string): JsonObject | undefined {
  const response = parse(paymentResponse, 'base64') as SettleResponse
  if (!response.success) return undefined
  const { transaction: reference, payer, amount, extensions } = response
  const signed = objectMember(objectMember(extensions ?? {}, 'offer-receipt'), 'info')
  const { signature } = objectMember(signed, 'receipt')
  if (typeof signature !== 'string') return undefined
  const claims = parse(signature.split('.')[1], 'base64url')
  if (!isJsonObject(claims)) return undefined
  const timestamp = new Date(Number(claims['issuedAt']) * 1_000).toISOString()
  return { method: MPP_TERMS.method, reference, status: 'success', timestamp, payer, amount }
}

/** Encodes a receipt as the header Payment-Receipt. */
export const encodeMppReceipt = (receipt: JsonObject): string =>
  Buffer.from(JSON.stringify(receipt)).toString('base64url')
