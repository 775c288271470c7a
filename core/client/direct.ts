import type { ClientWallet, ExternalOrder } from './index.ts'
import type { SellerPayment } from './pay.ts'
import { HubError, type HubResponse, HubUnreachable, sendRequest } from './transport.ts'

const TIMEOUT_MS = 120_000

/**
 * A payment was sent to a seller that did not deliver, or even refused it: the seller may take the
 * money until `expiresAt`, and a repetition would pay again.
 */
export class PaymentUnresolved extends Error {
  override readonly name = 'PaymentUnresolved'
  /** Microdollars. */
  readonly amount: bigint
  readonly expiresAt: Date
  constructor({ amount, expiresAt }: SellerPayment, cause: unknown) {
    super('The seller did not deliver after the payment was sent.', { cause })
    this.amount = amount
    this.expiresAt = expiresAt
  }
}

/**
 * Buys from a seller by x402 or MPP directly with the wallet, without a hub. Signs and sends one
 * payment. Its charge is the amount that was signed, whatever the seller says.
 * @param payUpTo maximum price in microdollars
 * @throws HubError if the seller refuses before it is paid
 * @throws PaymentTermsError if the terms are not acceptable
 * @throws PaymentUnresolved
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
  const unpaid = { charged: 0n, source: undefined, callId: undefined }
  const first = { ...(await sendRequest(route, `${pathname}${search}`, message)), ...unpaid }
  if (isSuccess(first)) return first
  if (first.status !== 402) throw new HubError(first)
  const { createSellerPayment } = await import('./pay.ts') // lazy: signing is slow to load
  const hasAuthorization = Object.keys(order.headers ?? {}).some(isAuthorization)
  const limit = { host, maxAmount: payUpTo }
  const payment = await createSellerPayment(account, first, limit, hasAuthorization)
  const headers = { ...message.headers, ...payment.header }
  const response = await sendRequest(route, `${pathname}${search}`, { ...message, headers }).catch(
    (error: unknown): never => {
      throw error instanceof HubUnreachable ? new PaymentUnresolved(payment, error) : error
    },
  )
  const { amount: charged, protocol: source } = payment
  if (isSuccess(response)) return { ...response, charged, source, callId: undefined }
  throw new PaymentUnresolved(payment, new HubError({ ...response, ...unpaid }))
}

const isAuthorization = (name: string): boolean => name.toLowerCase() === 'authorization'

const isSuccess = ({ status }: HubResponse): boolean => status >= 200 && status < 300
