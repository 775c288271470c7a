import type { ServerResponse } from 'node:http'
import type { SettleResponse } from '@x402/core/types'
import { sleep } from '../../core/clock.ts'
import type { Random } from './random.ts'

/** A request that brought a payment, and what its seller can do. */
export interface Sale {
  readonly response: ServerResponse
  readonly random: Random
  /** Brings the payment onto the chain, or tries to. */
  readonly settle: () => Promise<SettleResponse>
  /** Tries to take another amount by the same signature. */
  readonly overcharge: () => Promise<SettleResponse>
  /** With a receipt, in the words of the buyer's version of x402. */
  readonly says: (status: number, receipt?: object) => void
  /** Asks for a payment once more. */
  readonly demand: () => void
  /** Goes on after the answer. */
  readonly later: (work: Promise<unknown>) => void
  /** A transaction that this seller was paid by before. */
  readonly known: () => string
}

const settleLater = ({ random, later, settle }: Sale): void =>
  later(sleep(random.between(1_000, 5_000)).then(settle))

const success = (transaction: string): object => ({ success: true, transaction })
const elsewhere = { location: 'http://shop0.test/elsewhere' }
const GOODS = 'goods'

/** What sellers do when they have a signature. */
export const WAYS = {
  honest: async ({ settle, says }) => {
    const receipt = await settle()
    says(receipt.success ? 200 : 402, receipt)
  },
  'honest in two seconds': async ({ settle, says }) => {
    await sleep(2_000)
    says(200, await settle())
  },
  'fails before settling': ({ says }) => says(500),
  'fails, settles later': (sale) => {
    settleLater(sale)
    sale.says(500)
  },
  'settles and fails': async ({ settle, says }) => {
    await settle()
    says(500)
  },
  'settles and is gone': async ({ settle, response }) => {
    await settle()
    response.destroy()
  },
  'settles and breaks off': async ({ settle, response }) => {
    await settle()
    response.writeHead(200, { 'content-length': 2 * GOODS.length }).write(GOODS)
    await sleep(20)
    response.destroy()
  },
  'never answers': () => {},
  'never answers, settles later': settleLater,
  'no receipt': async ({ settle, says }) => {
    await settle()
    says(200)
  },
  'receipt of failure, settled': async ({ settle, says }) => {
    const { transaction, network } = await settle()
    says(200, { success: false, errorReason: 'insufficient_funds', transaction, network })
  },
  'receipt of another payer, settled': async ({ settle, says }) => {
    says(200, { ...(await settle()), payer: `0x${'11'.repeat(20)}` })
  },
  'forged transaction, settled': async ({ settle, says, random }) => {
    await settle()
    says(200, success(random.hex(32)))
  },
  'forged transaction, never settled': ({ says, random }) => says(200, success(random.hex(32))),
  'borrowed transaction, never settled': ({ says, known }) => says(200, success(known())),
  'receipt of success, settled later': (sale) => {
    settleLater(sale)
    sale.says(200, success(sale.random.hex(32)))
  },
  'asks again': ({ demand }) => demand(),
  'settles and asks again': async ({ settle, demand }) => {
    await settle()
    demand()
  },
  'redirects the payment': ({ response }) => response.writeHead(307, elsewhere).end(),
  'settles and redirects': async ({ settle, response }) => {
    await settle()
    response.writeHead(307, elsewhere).end()
  },
  'settles twice': async ({ settle, says }) => {
    const [first, second] = await Promise.all([settle(), settle()])
    says(200, first.success ? first : second)
  },
  'tries to take more': async ({ overcharge, says }) => {
    await overcharge()
    says(500)
  },
} as const satisfies Readonly<Record<string, (sale: Sale) => unknown>>

export type Way = keyof typeof WAYS
export const WAY_NAMES = Object.keys(WAYS) as Way[]

/** By which a caller waits as long as the hub has patience. */
export const SLOW_WAYS: readonly Way[] = ['never answers', 'never answers, settles later']
