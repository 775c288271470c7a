import { decodePaymentResponseHeader, encodePaymentSignatureHeader } from '@x402/core/http'
import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import type { JsonObject } from '../../json.ts'

/**
 * x402 over MCP (x402 specification, transports-v2/mcp.md): what HTTP has in headers stands in the
 * members of a tool call. The payment itself is the same, and is judged by the same code.
 */
const MCP_PAYMENT = 'x402/payment'
const MCP_RECEIPT = 'x402/payment-response'

/** The result of a tool call that was not paid: an error whose content is the offer. */
export const paymentRequiredResult = (required: PaymentRequired) => ({
  isError: true,
  structuredContent: required,
  content: [{ type: 'text' as const, text: JSON.stringify(required) }],
})

/** The payment of a tool call as the value of PAYMENT-SIGNATURE; undefined when there is none. */
export function paymentHeaderOf(meta: JsonObject | undefined): string | undefined {
  const payment = meta?.[MCP_PAYMENT]
  return payment === undefined ? undefined : encodePaymentSignatureHeader(payment as PaymentPayload)
}

/** A result with its receipt. @param header value of PAYMENT-RESPONSE */
export const withReceipt = <Result extends object>(
  { _meta: meta, ...result }: Result & { readonly _meta?: JsonObject },
  header: string,
) => ({
  ...result,
  _meta: { ...meta, [MCP_RECEIPT]: decodePaymentResponseHeader(header) },
})
