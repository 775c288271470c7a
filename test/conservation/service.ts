import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { sleep } from '../../core/clock.ts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import type { Facilitator } from '../../core/payments/facilitators/facilitator.ts'
import { localFacilitator } from '../../core/payments/facilitators/local.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { actOf, type ForeignAct, firstTimes } from './acts.ts'
import { Pending } from './pending.ts'
import type { Random } from './random.ts'

const ETH = 10n ** 18n

/** Who settles with a key that is none of the hub's. */
export async function stranger(rpcUrl: string): Promise<Facilitator> {
  const key = generatePrivateKey()
  await fund(rpcUrl, privateKeyToAddress(key), { wei: 10n * ETH })
  const { network } = USDC_BASE
  return localFacilitator({ rpcUrl, key, network, pollMs: 50 })
}

type Payment = Parameters<Facilitator['settle']>

/** A payment that is to be settled, and how it may be answered. */
interface Asked {
  readonly settle: () => Promise<{ readonly transaction: string }>
  readonly says: (answer: object) => void
  readonly response: ServerResponse
}

/** A facilitator that somebody else runs, which does with a payment what its nonce says. */
export class Service {
  readonly #random: Random
  readonly #pending = new Pending()
  readonly #isFirstLook = firstTimes()
  /** Transactions that it has made. */
  readonly #made: string[] = []
  #facilitator: Facilitator | undefined
  #server: Server | undefined
  #port = 0

  constructor(random: Random) {
    this.#random = random
  }

  /** @param facilitator does the honest part */
  use(facilitator: Facilitator): void {
    this.#facilitator = facilitator
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Listens, always at the same address. */
  async up(): Promise<void> {
    const server = createServer((request, response) => {
      text(request)
        .then((body) => this.#answer(String(request.url), body, response))
        .catch(() => response.destroy())
    })
    server.listen(this.#port, '127.0.0.1')
    await once(server, 'listening')
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
  }

  /** Refuses connections. */
  async down(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (!server) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }

  /** Waits for what it still settles. */
  idle(): Promise<void> {
    return this.#pending.all()
  }

  async #answer(path: string, body: string, response: ServerResponse): Promise<void> {
    const says = (answer: object): void => void response.end(JSON.stringify(answer))
    if (path === '/supported') return says(await this.#facilitator!.getSupported())
    const { paymentPayload, paymentRequirements } = JSON.parse(body)
    const payment: Payment = [paymentPayload, paymentRequirements]
    const act = actOf(paymentPayload) as ForeignAct
    if (path !== '/verify') return this.#settle(act, payment, response)
    const isBlind = act === 'foreign blind' && this.#isFirstLook(paymentPayload)
    if (isBlind) return void response.writeHead(503).end()
    if (act === 'foreign eager') this.#pending.add(this.#facilitator!.settle(...payment))
    return says(await this.#facilitator!.verify(...payment))
  }

  async #settle(act: ForeignAct, payment: Payment, response: ServerResponse): Promise<void> {
    const { network } = payment[1]
    const settle = async () => {
      const answer = await this.#facilitator!.settle(...payment)
      if (answer.success) this.#made.push(answer.transaction)
      return answer
    }
    const says = (answer: object): void =>
      void response.end(JSON.stringify({ success: false, transaction: '', network, ...answer }))
    await this.#acts[act]({ settle, says, response })
  }

  readonly #acts: Readonly<Record<ForeignAct, (asked: Asked) => unknown>> = {
    foreign: async ({ settle, says }) => says(await settle()),
    'foreign blind': async ({ settle, says }) => says(await settle()),
    'foreign eager': async ({ settle, says }) => says(await settle()),
    'foreign refuses': ({ says }) =>
      says({ errorReason: 'invalid_exact_evm_insufficient_balance' }),
    'foreign lost': async ({ settle, response }) => {
      await settle()
      response.destroy()
    },
    'foreign dead': ({ response }) => response.destroy(),
    'foreign late': ({ settle, response }) => {
      this.#pending.add(sleep(this.#random.between(1_000, 5_000)).then(settle))
      response.destroy()
    },
    'foreign pending': async ({ settle, says }) => {
      const { transaction } = await settle()
      says({ errorReason: 'settlement_pending', transaction })
    },
    'foreign denies': async ({ settle, says }) => {
      await settle()
      says({ errorReason: 'insufficient_funds' })
    },
    'foreign forges': ({ says }) => says({ success: true, transaction: this.#random.hex(32) }),
    'foreign borrows': ({ says }) => {
      const transaction: string = this.#made.at(-1) ?? (this.#random.hex(32) satisfies Hex)
      says({ success: true, transaction })
    },
  }
}
