import type { ClientWallet, ExternalOrder } from './index.ts'
import { HubError, type HubResponse, sendRequest } from './transport.ts'

const TIMEOUT_MS = 120_000

/**
 * Buys from a seller by x402 or MPP directly with the wallet, without a hub. Signs and sends one
 * payment.
 * @param payUpTo maximum price in microdollars
 * @throws HubError if the seller refuses
 * @throws PaymentTermsError if the terms are not acceptable
 */
export async function payDirect(
  { account }: ClientWallet,
  order: ExternalOrder,
  payUpTo: bigint,
): Promise<HubResponse> {
  const { origin, hostname: host, pathname, search } = new URL(order.url)
  const route = { baseUrl: origin, timeoutMs: TIMEOUT_MS }
  const { url: _, body, ...rest } = order
  // Like the hub: a string is sent verbatim, anything else as JSON.
  const message = { ...rest, body: typeof body === 'string' ? Buffer.from(body) : body }
  const first = await sendRequest(route, `${pathname}${search}`, message)
  if (first.status !== 402) return assertSuccess(first)
  const { createSellerPayment } = await import('./pay.ts') // lazy: signing is slow to load
  const hasAuthorization = Object.keys(order.headers ?? {}).some(isAuthorization)
  const limit = { host, maxAmount: payUpTo }
  const paid = await createSellerPayment(account, first, limit, hasAuthorization)
  const headers = { ...message.headers, ...paid }
  return assertSuccess(await sendRequest(route, `${pathname}${search}`, { ...message, headers }))
}

const isAuthorization = (name: string): boolean => name.toLowerCase() === 'authorization'

function assertSuccess(response: HubResponse): HubResponse {
  if (response.status >= 200 && response.status < 300) return response
  throw new HubError(response.status, response.body)
}
