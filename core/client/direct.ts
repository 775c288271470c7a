import type { ClientWallet, ExternalOrder } from './index.ts'
import { type Answer, HubError, sendRequest } from './transport.ts'

const TIMEOUT_MS = 120_000

/**
 * Buys from an x402 seller with the wallet itself, without a hub: asks, signs what is asked for
 * once, and sends it once.
 * @param payUpTo microdollars
 * @throws HubError for the seller's refusal, and PaymentTermsError for terms that are not signed
 */
export async function payDirect(
  { account }: ClientWallet,
  order: ExternalOrder,
  payUpTo: bigint,
): Promise<Answer> {
  const { origin, hostname: host, pathname, search } = new URL(order.url)
  const route = { baseUrl: origin, timeoutMs: TIMEOUT_MS }
  const { url: _, body, ...rest } = order
  // As a hub would send it: a text verbatim, anything else as JSON.
  const message = { ...rest, body: typeof body === 'string' ? Buffer.from(body) : body }
  const first = await sendRequest(route, `${pathname}${search}`, message)
  if (first.status !== 402) return assertSuccess(first)
  const { createPaymentHeader: payment } = await import('./pay.ts') // signing takes long to load
  const paid = await payment(account, first, { host, maxAmount: payUpTo })
  const headers = { ...message.headers, ...paid }
  return assertSuccess(await sendRequest(route, `${pathname}${search}`, { ...message, headers }))
}

function assertSuccess(answer: Answer): Answer {
  if (answer.status >= 200 && answer.status < 300) return answer
  throw new HubError(answer.status, answer.body)
}
