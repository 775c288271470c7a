import { decodePaymentResponseHeader, encodePaymentSignatureHeader } from '@x402/core/http'
import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import type { JsonObject } from '../../json.ts'

/** Members in `_meta` of x402 over MCP: they carry what HTTP carries in headers. */
const MCP_PAYMENT = 'x402/payment'
const MCP_RECEIPT = 'x402/payment-response'
const MCP_SIGN_IN = 'x402/sign-in-with-x'

/** Builds the result of an unpaid tool call: an error whose content is the offer. */
export const paymentRequiredResult = (required: PaymentRequired) => ({
  isError: true,
  structuredContent: required,
  content: [{ type: 'text' as const, text: JSON.stringify(required) }],
})

/** Returns the payment of a tool call as the value of PAYMENT-SIGNATURE; undefined if absent. */
export function paymentHeaderOf(meta: JsonObject | undefined): string | undefined {
  const payment = meta?.[MCP_PAYMENT]
  return payment === undefined ? undefined : encodePaymentSignatureHeader(payment as PaymentPayload)
}

/** Returns the signed challenge of a tool call, an object or a header; undefined if absent. */
export function signInHeaderOf(meta: JsonObject | undefined): string | undefined {
  const signIn = meta?.[MCP_SIGN_IN]
  if (signIn === undefined || typeof signIn === 'string') return signIn
  return Buffer.from(JSON.stringify(signIn)).toString('base64')
}

/** Adds the receipt to a result. @param header value of PAYMENT-RESPONSE */
export const withReceipt = <Result extends object>(
  { _meta: meta, ...result }: Result & { readonly _meta?: JsonObject },
  header: string,
) => ({
  ...result,
  _meta: { ...meta, [MCP_RECEIPT]: decodePaymentResponseHeader(header) },
})
