import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { sleep } from '../../core/clock.ts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import type { Facilitator } from '../../core/payments/facilitators/facilitator.ts'
import { localFacilitator } from '../../core/payments/facilitators/local.ts'
import { PendingTasks } from '../../core/runtime/pending-tasks.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { behaviorOf, type ForeignBehavior, firstRequests } from './facilitator-behaviors.ts'
import type { Random } from './random.ts'

const WEI_PER_ETH = 10n ** 18n

/** Creates a facilitator with a funded key of its own, unknown to the hub. */
export async function fundedFacilitator(rpcUrl: string): Promise<Facilitator> {
  const key = generatePrivateKey()
  await fund(rpcUrl, privateKeyToAddress(key), { wei: 10n * WEI_PER_ETH })
  const { network } = USDC_BASE
  return localFacilitator({ rpcUrl, key, network, pollMs: 50 })
}

type Payment = Parameters<Facilitator['settle']>

/** Settlement request: the payment and the possible responses. */
interface SettlementRequest {
  readonly settle: () => Promise<{ readonly transaction: string }>
  readonly respond: (body: object) => void
  readonly response: ServerResponse
}

/** HTTP facilitator run by somebody else; its behavior follows each payment's nonce. */
export class ForeignFacilitator {
  readonly #random: Random
  readonly #pending = new PendingTasks()
  readonly #isFirstVerification = firstRequests()
  /** Transactions it has sent. */
  readonly #transactions: string[] = []
  #facilitator: Facilitator | undefined
  #server: Server | undefined
  #port = 0

  constructor(random: Random) {
    this.#random = random
  }

  /** @param facilitator verifies and settles honestly */
  use(facilitator: Facilitator): void {
    this.#facilitator = facilitator
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  /** Starts listening, always on the same port. */
  async up(): Promise<void> {
    const server = createServer((request, response) => {
      text(request)
        .then((body) => this.#respond(String(request.url), body, response))
        .catch(() => response.destroy())
    })
    server.listen(this.#port, '127.0.0.1')
    await once(server, 'listening')
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
  }

  /** Stops listening; connections are refused. */
  async down(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (!server) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }

  /** Waits for pending settlements. */
  idle(): Promise<void> {
    return this.#pending.idle()
  }

  async #respond(path: string, body: string, response: ServerResponse): Promise<void> {
    const respond = (body: object): void => void response.end(JSON.stringify(body))
    if (path === '/supported') return respond(await this.#facilitator!.getSupported())
    const { paymentPayload, paymentRequirements } = JSON.parse(body)
    const payment: Payment = [paymentPayload, paymentRequirements]
    const behavior = behaviorOf(paymentPayload) as ForeignBehavior
    if (path !== '/verify') return this.#settle(behavior, payment, response)
    const isBlind = behavior === 'foreign blind' && this.#isFirstVerification(paymentPayload)
    if (isBlind) return void response.writeHead(503).end()
    if (behavior === 'foreign eager') void this.#pending.add(this.#facilitator!.settle(...payment))
    return respond(await this.#facilitator!.verify(...payment))
  }

  async #settle(
    behavior: ForeignBehavior,
    payment: Payment,
    response: ServerResponse,
  ): Promise<void> {
    const { network } = payment[1]
    const settle = async () => {
      const result = await this.#facilitator!.settle(...payment)
      if (result.success) this.#transactions.push(result.transaction)
      return result
    }
    const respond = (body: object): void =>
      void response.end(JSON.stringify({ success: false, transaction: '', network, ...body }))
    await this.#behaviors[behavior]({ settle, respond, response })
  }

  readonly #behaviors: Readonly<Record<ForeignBehavior, (request: SettlementRequest) => unknown>> =
    {
      foreign: async ({ settle, respond }) => respond(await settle()),
      'foreign blind': async ({ settle, respond }) => respond(await settle()),
      'foreign eager': async ({ settle, respond }) => respond(await settle()),
      'foreign refuses': ({ respond }) =>
        respond({ errorReason: 'invalid_exact_evm_insufficient_balance' }),
      'foreign lost': async ({ settle, response }) => {
        await settle()
        response.destroy()
      },
      'foreign dead': ({ response }) => response.destroy(),
      'foreign late': ({ settle, response }) => {
        void this.#pending.add(sleep(this.#random.between(1_000, 5_000)).then(settle))
        response.destroy()
      },
      'foreign pending': async ({ settle, respond }) => {
        const { transaction } = await settle()
        respond({ errorReason: 'settlement_pending', transaction })
      },
      'foreign denies': async ({ settle, respond }) => {
        await settle()
        respond({ errorReason: 'insufficient_funds' })
      },
      'foreign forges': ({ respond }) =>
        respond({ success: true, transaction: this.#random.hex(32) }),
      'foreign reuses': ({ respond }) => {
        const transaction: string =
          this.#transactions.at(-1) ?? (this.#random.hex(32) satisfies Hex)
        respond({ success: true, transaction })
      },
    }
}
