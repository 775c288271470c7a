import type { ServerResponse } from 'node:http'
import type { SettleResponse } from '@x402/core/types'
import { sleep } from '../../core/clock.ts'
import type { Random } from './random.ts'

/** Paid request with the operations available to its seller. */
export interface Sale {
  readonly response: ServerResponse
  readonly random: Random
  /** Tries to settle the payment on the chain. */
  readonly settle: () => Promise<SettleResponse>
  /** Tries to settle a higher amount with the same signature. */
  readonly overcharge: () => Promise<SettleResponse>
  /** Sends a response, with a receipt in the buyer's x402 version. */
  readonly respond: (status: number, receipt?: object) => void
  /** Responds with a payment demand again. */
  readonly demandPayment: () => void
  /** Continues work after the response. */
  readonly inBackground: (work: Promise<unknown>) => void
  /** Returns a transaction of an earlier payment to a seller. */
  readonly previousTransaction: () => string
}

const settleLater = ({ random, inBackground, settle }: Sale): void =>
  inBackground(sleep(random.between(1_000, 5_000)).then(settle))

const success = (transaction: string): object => ({ success: true, transaction })
const reuse = { location: 'http://shop0.test/elsewhere' }
const BODY = 'goods'

/** Behaviors of a seller that has received a signed payment. */
export const SELLER_BEHAVIORS = {
  honest: async ({ settle, respond }) => {
    const receipt = await settle()
    respond(receipt.success ? 200 : 402, receipt)
  },
  'honest in two seconds': async ({ settle, respond }) => {
    await sleep(2_000)
    respond(200, await settle())
  },
  'fails before settling': ({ respond }) => respond(500),
  'fails, settles later': (sale) => {
    settleLater(sale)
    sale.respond(500)
  },
  'settles and fails': async ({ settle, respond }) => {
    await settle()
    respond(500)
  },
  'settles and disconnects': async ({ settle, response }) => {
    await settle()
    response.destroy()
  },
  'settles and truncates the response': async ({ settle, response }) => {
    await settle()
    response.writeHead(200, { 'content-length': 2 * BODY.length }).write(BODY)
    await sleep(20)
    response.destroy()
  },
  'never responds': () => {},
  'never responds, settles later': settleLater,
  'no receipt': async ({ settle, respond }) => {
    await settle()
    respond(200)
  },
  'receipt of failure, settled': async ({ settle, respond }) => {
    const { transaction, network } = await settle()
    respond(200, { success: false, errorReason: 'insufficient_funds', transaction, network })
  },
  'receipt of another payer, settled': async ({ settle, respond }) => {
    respond(200, { ...(await settle()), payer: `0x${'11'.repeat(20)}` })
  },
  'forged transaction, settled': async ({ settle, respond, random }) => {
    await settle()
    respond(200, success(random.hex(32)))
  },
  'forged transaction, never settled': ({ respond, random }) =>
    respond(200, success(random.hex(32))),
  'reused transaction, never settled': ({ respond, previousTransaction }) =>
    respond(200, success(previousTransaction())),
  'receipt of success, settled later': (sale) => {
    settleLater(sale)
    sale.respond(200, success(sale.random.hex(32)))
  },
  'demands payment again': ({ demandPayment }) => demandPayment(),
  'settles and demands payment again': async ({ settle, demandPayment }) => {
    await settle()
    demandPayment()
  },
  'redirects the payment': ({ response }) => response.writeHead(307, reuse).end(),
  'settles and redirects': async ({ settle, response }) => {
    await settle()
    response.writeHead(307, reuse).end()
  },
  'settles twice': async ({ settle, respond }) => {
    const [first, second] = await Promise.all([settle(), settle()])
    respond(200, first.success ? first : second)
  },
  'tries to overcharge': async ({ overcharge, respond }) => {
    await overcharge()
    respond(500)
  },
} as const satisfies Readonly<Record<string, (sale: Sale) => unknown>>

export type SellerBehavior = keyof typeof SELLER_BEHAVIORS
export const SELLER_BEHAVIOR_NAMES = Object.keys(SELLER_BEHAVIORS) as SellerBehavior[]

/** Behaviors that make the caller wait until the hub's timeout. */
export const SLOW_SELLER_BEHAVIORS: readonly SellerBehavior[] = [
  'never responds',
  'never responds, settles later',
]
