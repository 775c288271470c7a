import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SettleResponse } from '@x402/core/types'
import type { Hex } from '../../core/payments/chain/asset.ts'
import type { Facilitator } from '../../core/payments/facilitators/facilitator.ts'
import type { Payment } from '../../core/payments/receiving/payment.ts'
import { PendingTasks } from '../../core/runtime/pending-tasks.ts'
import { authorizationOf } from '../support/authorization.ts'
import type { Counters } from './counters.ts'
import { BAD_OFFERS, GOOD_OFFERS, offer, type Product, requirementV1 } from './offers.ts'
import type { Random } from './random.ts'
import { SELLER_BEHAVIOR_NAMES, SELLER_BEHAVIORS, type SellerBehavior } from './seller-behaviors.ts'

const SHOPS = 5

/** Product order: the URL selects the seller's offer and behavior. */
export interface Order {
  readonly offer: string
  readonly behavior: SellerBehavior
  readonly amount: bigint
}

/** Sellers on named hosts, each with two wallets; one HTTP server serves all of them. */
export class Market {
  readonly hosts: ReadonlyMap<string, number>
  /** Wallets of the sellers; no private keys exist for them. */
  readonly wallets: readonly Hex[]
  readonly #server: Server
  readonly #random: Random
  readonly #counters: Counters
  readonly #pending = new PendingTasks()
  readonly #transactions: string[] = []
  #settler: Facilitator | undefined
  #platformWallets: readonly Hex[] = []
  #orders = 0

  private constructor(server: Server, random: Random, counters: Counters) {
    this.#server = server
    this.#random = random
    this.#counters = counters
    counters.expect('offers', [...GOOD_OFFERS, ...BAD_OFFERS])
    counters.expect('sellers', SELLER_BEHAVIOR_NAMES)
    const names = Array.from({ length: SHOPS }, (_, n) => `shop${n}.test`)
    const { port } = server.address() as AddressInfo
    this.hosts = new Map(names.map((name) => [name, port]))
    this.wallets = names.flatMap((name) => [walletOf(random, name), secondOf(random, name)])
    server.on('request', (request, response) => {
      void this.#pending.add(this.#serve(request, response).catch(() => response.destroy()))
    })
  }

  static async start(random: Random, counters: Counters): Promise<Market> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Market(server, random, counters)
  }

  /** @param settler settles the payments of all sellers */
  open(settler: Facilitator, platformWallets: readonly Hex[]): void {
    this.#settler = settler
    this.#platformWallets = platformWallets
  }

  /** Returns a URL of a random seller. */
  urlOf({ offer, behavior, amount }: Order, random: Random): string {
    const path = [offer, behavior, amount, ++this.#orders].map((part) =>
      encodeURIComponent(String(part)),
    )
    return `http://${random.pick([...this.hosts.keys()])}/${path.join('/')}`
  }

  /** Waits for pending settlements of the sellers. */
  idle(): Promise<void> {
    return this.#pending.idle()
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume()
    const { host = '' } = request.headers
    const [name = '', behavior = '', amount = '', id = ''] = String(request.url)
      .slice(1)
      .split('/')
      .map(decodeURIComponent)
    const product: Product = {
      url: `http://${host}${request.url}`,
      amount: BigInt(amount),
      payTo: walletOf(this.#random, host),
      second: secondOf(this.#random, host),
      platformWallets: this.#platformWallets,
    }
    const header = request.headers['payment-signature'] ?? request.headers['x-payment']
    if (typeof header !== 'string') {
      this.#counters.add('offers', name)
      return offer(name, product, response)
    }
    this.#counters.add('sellers', behavior)
    const payment = paymentOf(header, product)
    await SELLER_BEHAVIORS[behavior as SellerBehavior](
      this.#saleOf(name, product, payment, response, this.#random.fork(id)),
    )
  }

  #saleOf(
    name: string,
    product: Product,
    payment: Payment,
    response: ServerResponse,
    random: Random,
  ) {
    const receiptName = name === 'version 1' ? 'x-payment-response' : 'payment-response'
    const settle = (other: Payment): Promise<SettleResponse> =>
      this.#settler!.settle(other, other.accepted)
    return {
      response,
      random,
      settle: async () => {
        const settled = await settle(payment)
        if (settled.success) this.#transactions.push(settled.transaction)
        return settled
      },
      overcharge: () => settle(withMore(payment)),
      respond: (status: number, receipt?: object) => {
        const value = Buffer.from(JSON.stringify(receipt ?? null)).toString('base64')
        response.writeHead(status, receipt ? { [receiptName]: value } : {}).end('goods')
      },
      demandPayment: () => offer(name, product, response),
      inBackground: (work: Promise<unknown>) => this.#pending.add(work),
      previousTransaction: () => this.#transactions.at(-1) ?? random.hex(32),
    }
  }
}

const walletOf = (random: Random, host: string): Hex => random.fork(`first ${host}`).hex(20)
const secondOf = (random: Random, host: string): Hex => random.fork(`second ${host}`).hex(20)

/** Parses a payment of either x402 version into the form of version 2. */
function paymentOf(header: string, product: Product): Payment {
  const payment = JSON.parse(Buffer.from(header, 'base64').toString())
  if (payment.x402Version === 2) return payment
  return { x402Version: 2, accepted: requirementV1(product), payload: payment.payload }
}

const withMore = (payment: Payment): Payment => {
  const authorization = { ...authorizationOf(payment.payload), value: '999999' }
  const accepted = { ...payment.accepted, amount: '999999' }
  return { ...payment, accepted, payload: { ...payment.payload, authorization } }
}
