import { decodePaymentResponseHeader, encodePaymentSignatureHeader } from '@x402/core/http'
import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import { Fault } from '../../errors.ts'
import { isJsonObject, type JsonObject, objectMember } from '../../json.ts'
import { decodeRequest, encodeRequest, parseChallenges } from '../mpp-challenge.ts'
import { mppReceiptOf } from './mpp-receipt.ts'

/** Members in `_meta` of x402 over MCP: they carry what HTTP carries in headers. */
const MCP_PAYMENT = 'x402/payment'
/** Name in the package `x402-mcp`, which sends the header of version 1. */
const MCP_PAYMENT_V1 = 'x402.payment'
const MCP_RECEIPT = 'x402/payment-response'
const MCP_SIGN_IN = 'x402/sign-in-with-x'

/** Builds the result of an unpaid tool call: an error whose content is the offer. */
export const paymentRequiredResult = (required: PaymentRequired) => ({
  isError: true,
  structuredContent: required,
  content: [{ type: 'text' as const, text: JSON.stringify(required) }],
})

/** Members in `_meta` of MPP over MCP. */
const MPP_REQUIRED = 'org.paymentauth/payment-required'
const MPP_CREDENTIAL = 'org.paymentauth/credential'
const MPP_RECEIPT = 'org.paymentauth/receipt'

/**
 * Adds the challenge of MPP to the result of an unpaid tool call.
 * @param header value of WWW-Authenticate
 */
export function withChallenge<Result extends object>(result: Result, header: string) {
  const challenges = parseChallenges(header).map((parameters) => {
    const { header: _, request = '', ...challenge } = parameters
    return { ...challenge, request: decodeRequest(request) }
  })
  return { ...result, _meta: { [MPP_REQUIRED]: { httpStatus: 402, challenges } } }
}

/**
 * Returns the payment of a tool call, an object or a header, as HTTP has it in a header; undefined
 * if absent.
 * @throws Fault `duplicate_header` for payments by both protocols
 */
export function paymentHeaderOf(meta: JsonObject | undefined): string | undefined {
  const payment = meta?.[MCP_PAYMENT] ?? meta?.[MCP_PAYMENT_V1]
  const credential = meta?.[MPP_CREDENTIAL]
  if (credential === undefined) {
    if (payment === undefined || typeof payment === 'string') return payment
    return encodePaymentSignatureHeader(payment as PaymentPayload)
  }
  if (payment !== undefined)
    throw new Fault('duplicate_header', 'Send one payment, by x402 or by MPP.')
  const challenge = objectMember(isJsonObject(credential) ? credential : {}, 'challenge')
  const { request } = challenge
  const encoded = isJsonObject(request) ? encodeRequest(request) : request
  const wire = { ...(credential as object), challenge: { ...challenge, request: encoded } }
  return `Payment ${Buffer.from(JSON.stringify(wire)).toString('base64url')}`
}

/** Returns the signed challenge of a tool call, an object or a header; undefined if absent. */
export function signInHeaderOf(meta: JsonObject | undefined): string | undefined {
  const signIn = meta?.[MCP_SIGN_IN]
  if (signIn === undefined || typeof signIn === 'string') return signIn
  return Buffer.from(JSON.stringify(signIn)).toString('base64')
}

/**
 * Adds the receipt to a result, and that of MPP if the payment was one.
 * @param header value of PAYMENT-RESPONSE
 * @param sent `_meta` of the call
 */
export function withReceipt<Result extends object>(
  { _meta: meta, ...result }: Result & { readonly _meta?: JsonObject },
  header: string,
  sent: JsonObject | undefined,
) {
  const { id: challengeId } = objectMember(objectMember(sent, MPP_CREDENTIAL), 'challenge')
  const mpp = challengeId === undefined ? undefined : mppReceiptOf(header)
  return {
    ...result,
    _meta: {
      ...meta,
      [MCP_RECEIPT]: decodePaymentResponseHeader(header),
      ...(mpp && { [MPP_RECEIPT]: { ...mpp, challengeId } }),
    },
  }
}
