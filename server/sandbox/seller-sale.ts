import type { Context } from 'koa'
import type { Hex } from '../../core/payments/chain/asset.ts'
import { BadPayment, type Offers } from '../../core/payments/receiving/offers.ts'
import type { SellerRoute } from './seller-routes.ts'

export interface Sale {
  readonly ctx: Context
  readonly offers: Offers
  readonly route: SellerRoute
  readonly payTo: Hex
  /** Registers work that continues after the response; `stop` waits for it. */
  readonly runAfterResponse: (work: Promise<unknown>) => void
}

const MAX_TIMEOUT_SECONDS = 60

/** Reads the payment. If there is none, or it is malformed, sends a 402 and returns undefined. */
export function readPayment(sale: Sale) {
  const header = sale.ctx.req.headersDistinct['payment-signature']
  try {
    if (header !== undefined) return sale.offers.read(header)
    sendPaymentRequired(sale)
  } catch (error) {
    if (!(error instanceof BadPayment)) throw error
    sendPaymentRequired(sale, error.reason)
  }
}

export const paymentRequirements = ({ offers, route }: Sale) =>
  offers.requirements({ amount: route.price, maxTimeoutSeconds: MAX_TIMEOUT_SECONDS })

/** Sends a 402 with the offer and the reason why a payment was refused. */
export function sendPaymentRequired(
  { ctx, offers, route }: Sale,
  error = 'payment_required',
  price = route.price,
): void {
  const { header, required } = offers.offer({
    amount: price,
    maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
    resource: {
      url: `http://${ctx.host}${ctx.path}`,
      description: route.description,
      mimeType: 'application/json',
    },
    error,
  })
  ctx.status = 402
  ctx.set('PAYMENT-REQUIRED', header)
  ctx.body = required
}
