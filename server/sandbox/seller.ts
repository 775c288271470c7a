import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import Koa from 'koa'
import { isAddress } from 'viem'
import { unrefSleep } from '../../core/clock.ts'
import type { Hex } from '../../core/payments/chain/asset.ts'
import type { Facilitator } from '../../core/payments/facilitators/facilitator.ts'
import { createOffers } from '../../core/payments/receiving/offers.ts'
import { sellerDocument } from './seller-document.ts'
import { FAULTS, type Fault, injectFault } from './seller-faults.ts'
import { ROUTES } from './seller-routes.ts'
import { paymentRequirements, readPayment, type Sale, sendPaymentRequired } from './seller-sale.ts'

export interface SellerOptions {
  readonly facilitator: Facilitator
  readonly payTo: Hex
  readonly network: string
  /** Port on 127.0.0.1; 0 picks a free one. @defaultValue 0 */
  readonly port?: number
  /** Fault for requests without a `fault` query parameter. For tests. */
  readonly fault?: Fault
}

/** A third-party x402 seller, as `POST /external` meets them. */
export interface Seller {
  /** Its origin: `http://127.0.0.1:<port>`. */
  readonly url: string
  /** Closes every connection and waits for pending settlements. */
  stop(): Promise<void>
}

/**
 * Starts the sample seller: `GET /weather?city=` for $0.01 and `POST /shout` for $0.002, by x402
 * version 2. `?fault=<name>` injects one of `FAULTS` into a request, and `?pay_to=<address>`
 * changes the recipient. Described in `/openapi.json`.
 */
export async function startSeller(options: SellerOptions): Promise<Seller> {
  const { facilitator, payTo, network, port = 0 } = options
  const selling = (payee: Hex) => createOffers({ facilitator, payTo: payee, network })
  const pending = new Set<Promise<unknown>>()
  const later = (work: Promise<unknown>): void => {
    const kept = work.catch(() => {}).finally(() => pending.delete(kept))
    pending.add(kept)
  }
  const app = new Koa()
  app.silent = true
  app.use(async (ctx) => {
    if (ctx.path === '/openapi.json') {
      ctx.body = sellerDocument()
      return
    }
    const route = ROUTES[`${ctx.method} ${ctx.path}`]
    if (route === undefined) return
    const payee = isAddress(String(ctx.query['pay_to'])) ? (ctx.query['pay_to'] as Hex) : payTo
    const sale: Sale = { ctx, offers: selling(payee), route, payTo: payee, runAfterResponse: later }
    const fault = String(ctx.query['fault'] ?? options.fault ?? '')
    await (isFault(fault) ? injectFault(fault, sale) : sell(sale))
  })
  const server = app.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.close()
      server.closeAllConnections()
      await Promise.race([Promise.all(pending), unrefSleep(STOP_MS)])
    },
  }
}

const STOP_MS = 15_000

const isFault = (name: string): name is Fault => Object.hasOwn(FAULTS, name)

/** Sells honestly: verifies the payment, does the work, settles, responds. */
async function sell(sale: Sale): Promise<void> {
  const { ctx, offers, route } = sale
  const payment = readPayment(sale)
  if (payment === undefined) return
  const requirement = offers.match(paymentRequirements(sale), payment)
  if (requirement === undefined) return sendPaymentRequired(sale, 'no_matching_requirements')
  const verdict = await offers.verify(payment, requirement)
  if (!verdict.valid) return sendPaymentRequired(sale, verdict.reason)
  const body = await route.answer(ctx)
  const { outcome, responseHeader, reason } = await offers.settle(payment, requirement)
  ctx.set('PAYMENT-RESPONSE', responseHeader)
  if (outcome === 'failed') return sendPaymentRequired(sale, reason)
  ctx.status = outcome === 'settled' ? 200 : 202
  ctx.body = outcome === 'settled' ? body : { pending: true }
}
