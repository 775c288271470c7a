import type { Context } from 'koa'
import type { Hex } from '../../core/payments/chain/asset.ts'
import { BadPayment, type Offers } from '../../core/payments/receiving/offers.ts'
import type { SellerRoute } from './seller-routes.ts'

/** What the handlers of one request share. */
export interface Sale {
  readonly ctx: Context
  readonly offers: Offers
  readonly route: SellerRoute
  readonly payTo: Hex
  /** Work that goes on after the answer; `stop` waits for it. */
  readonly later: (work: Promise<unknown>) => void
}

const MAX_TIMEOUT_SECONDS = 60

/** The payment of the request. Undefined: there is none that can be read, and 402 is answered. */
export function readPayment(sale: Sale) {
  const header = sale.ctx.req.headersDistinct['payment-signature']
  try {
    if (header !== undefined) return sale.offers.read(header)
    demand(sale)
  } catch (error) {
    if (!(error instanceof BadPayment)) throw error
    demand(sale, error.reason)
  }
}

export const requirementsOf = ({ offers, route }: Sale) =>
  offers.requirements({ amount: route.price, maxTimeoutSeconds: MAX_TIMEOUT_SECONDS })

/** Answers 402 with the offer, and why a payment was not taken. */
export function demand(
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
