import { Readable } from 'node:stream'
import { sleep } from '../../core/clock.ts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import type { Payment } from '../../core/payments/receiving/offers.ts'
import { paymentRequirements, readPayment, type Sale, sendPaymentRequired } from './seller-sale.ts'

/** Faults that the sample seller can inject, before or after it has a signature. */
export const FAULTS = {
  dear: 'Asks for $50.',
  v1: 'Offers by version 1, in the body only; takes X-PAYMENT and settles.',
  hang: 'Never answers a paid request, and does not settle.',
  refuse: 'Answers a paid request 402 with a new offer, and does not settle.',
  free: 'Serves a paid request without settling.',
  silent: 'Settles and serves, without PAYMENT-RESPONSE.',
  took: 'Settles, and answers 500 without a word of it.',
  large: 'Settles and serves as many MiB as `mib` says (query, by default 4).',
  lost: 'Settles and cuts the connection.',
  failing: 'Answers 500 and does not settle.',
  late: 'Answers 500, and settles after `delay` milliseconds (query, by default 300).',
  redirect: 'Sends a paid request on to `to` (query) by 307.',
} as const satisfies Record<string, string>

export type Fault = keyof typeof FAULTS

type Paid = (sale: Sale, payment: Payment) => void | Promise<void>

const PAID: Record<Exclude<Fault, 'dear' | 'v1'>, Paid> = {
  hang: async ({ ctx }) => {
    ctx.respond = false
  },
  refuse: (sale) => sendPaymentRequired(sale, 'payment_refused'),
  free: serve,
  silent: async (sale, payment) => {
    await settle(sale, payment)
    await serve(sale)
  },
  took: async (sale, payment) => {
    await settle(sale, payment)
    fail(sale.ctx)
  },
  large: async (sale, payment) => {
    const { responseHeader } = await settle(sale, payment)
    sale.ctx.set('PAYMENT-RESPONSE', responseHeader)
    sale.ctx.type = 'application/octet-stream'
    sale.ctx.body = Readable.from(mebibytes(Number(sale.ctx.query['mib'] ?? 4)))
  },
  lost: async (sale, payment) => {
    await settle(sale, payment)
    sale.ctx.respond = false
    sale.ctx.req.socket.destroy()
  },
  failing: ({ ctx }) => fail(ctx),
  late: (sale, payment) => {
    const delay = Number(sale.ctx.query['delay'] ?? 300)
    sale.runAfterResponse(sleep(delay).then(() => settle(sale, payment)))
    fail(sale.ctx)
  },
  redirect: ({ ctx }) => {
    ctx.status = 307
    ctx.set('Location', String(ctx.query['to'] ?? 'http://127.0.0.1:9/'))
  },
}

const DEAR = 50_000_000n

/** Responds to one request with the given fault. */
export async function injectFault(fault: Fault, sale: Sale): Promise<void> {
  if (fault === 'dear') return sendPaymentRequired(sale, 'payment_required', DEAR)
  if (fault === 'v1') return sellV1(sale)
  const payment = readPayment(sale)
  if (payment !== undefined) await PAID[fault](sale, payment)
}

function* mebibytes(count: number): Generator<Buffer> {
  const piece = Buffer.alloc(1_048_576, 'x')
  for (let n = 0; n < count; n++) yield piece
}

const settle = (sale: Sale, payment: Payment) =>
  sale.offers.settle(payment, paymentRequirements(sale))

async function serve({ ctx, route }: Sale): Promise<void> {
  ctx.body = await route.answer(ctx)
}

function fail(ctx: Sale['ctx']): void {
  ctx.status = 500
  ctx.body = { error: 'boom' }
}

/** Sells by x402 version 1: offer in the body, X-PAYMENT and X-PAYMENT-RESPONSE. */
async function sellV1(sale: Sale): Promise<void> {
  const { ctx } = sale
  const header = ctx.get('x-payment')
  if (header === '') return sendPaymentRequiredV1(sale)
  const { payload } = JSON.parse(Buffer.from(header, 'base64').toString('utf8'))
  const payment = {
    x402Version: 2,
    accepted: paymentRequirements(sale),
    payload,
  } as unknown as Payment
  const { outcome, tx, payer } = await settle(sale, payment)
  if (outcome !== 'settled') return sendPaymentRequiredV1(sale, outcome)
  ctx.set('X-PAYMENT-RESPONSE', receiptV1(tx ?? '0x', payer))
  await serve(sale)
}

function sendPaymentRequiredV1(
  { ctx, route, payTo }: Sale,
  error = 'X-PAYMENT header is required',
): void {
  const { v1Network, address, name, version } = USDC_BASE
  ctx.status = 402
  ctx.body = {
    x402Version: 1,
    error,
    accepts: [
      {
        scheme: 'exact',
        network: v1Network,
        maxAmountRequired: String(route.price),
        resource: `http://${ctx.host}${ctx.path}`,
        description: route.description,
        mimeType: 'application/json',
        outputSchema: {},
        payTo,
        maxTimeoutSeconds: 60,
        asset: address,
        extra: { name, version },
      },
    ],
  }
}

const receiptV1 = (transaction: Hex, payer: Hex): string =>
  Buffer.from(
    JSON.stringify({ success: true, transaction, network: USDC_BASE.v1Network, payer }),
  ).toString('base64')
