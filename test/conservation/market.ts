import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { SettleResponse } from '@x402/core/types'
import type { Hex } from '../../core/payments/chain/asset.ts'
import type { Facilitator } from '../../core/payments/facilitators/facilitator.ts'
import type { Payment } from '../../core/payments/receiving/payment.ts'
import { BAD_OFFERS, GOOD_OFFERS, offer, requirementV1, type Ware } from './offers.ts'
import { Pending } from './pending.ts'
import type { Random } from './random.ts'
import type { Tally } from './tally.ts'
import { WAY_NAMES, WAYS, type Way } from './ways.ts'

const SHOPS = 5

/** What a buyer asks for: the seller does what the URL says. */
export interface Order {
  readonly offer: string
  readonly way: Way
  readonly amount: bigint
}

/** Sellers on named hosts, each with two wallets; one server of this process for all. */
export class Market {
  readonly hosts: ReadonlyMap<string, number>
  /** Of the sellers; nobody has their keys. */
  readonly wallets: readonly Hex[]
  readonly #server: Server
  readonly #random: Random
  readonly #tally: Tally
  readonly #pending = new Pending()
  readonly #made: string[] = []
  #settler: Facilitator | undefined
  #house: readonly Hex[] = []
  #orders = 0

  private constructor(server: Server, random: Random, tally: Tally) {
    this.#server = server
    this.#random = random
    this.#tally = tally
    tally.expect('offers', [...GOOD_OFFERS, ...BAD_OFFERS])
    tally.expect('sellers', WAY_NAMES)
    const names = Array.from({ length: SHOPS }, (_, n) => `shop${n}.test`)
    const { port } = server.address() as AddressInfo
    this.hosts = new Map(names.map((name) => [name, port]))
    this.wallets = names.flatMap((name) => [walletOf(random, name), secondOf(random, name)])
    server.on('request', (request, response) => {
      this.#pending.add(this.#serve(request, response).catch(() => response.destroy()))
    })
  }

  static async open(random: Random, tally: Tally): Promise<Market> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Market(server, random, tally)
  }

  /** @param settler brings payments onto the chain for all of them */
  trade(settler: Facilitator, house: readonly Hex[]): void {
    this.#settler = settler
    this.#house = house
  }

  /** An address that leads to one of the sellers. */
  urlOf({ offer, way, amount }: Order, random: Random): string {
    const path = [offer, way, amount, ++this.#orders].map((part) =>
      encodeURIComponent(String(part)),
    )
    return `http://${random.pick([...this.hosts.keys()])}/${path.join('/')}`
  }

  /** Waits for what they still settle. */
  idle(): Promise<void> {
    return this.#pending.all()
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
    const [name = '', way = '', amount = '', id = ''] = String(request.url)
      .slice(1)
      .split('/')
      .map(decodeURIComponent)
    const ware: Ware = {
      url: `http://${host}${request.url}`,
      amount: BigInt(amount),
      payTo: walletOf(this.#random, host),
      second: secondOf(this.#random, host),
      house: this.#house,
    }
    const header = request.headers['payment-signature'] ?? request.headers['x-payment']
    if (typeof header !== 'string') {
      this.#tally.add('offers', name)
      return offer(name, ware, response)
    }
    this.#tally.add('sellers', way)
    const payment = paymentOf(header, ware)
    await WAYS[way as Way](this.#saleOf(name, ware, payment, response, this.#random.of(id)))
  }

  #saleOf(name: string, ware: Ware, payment: Payment, response: ServerResponse, random: Random) {
    const receiptName = name === 'version 1' ? 'x-payment-response' : 'payment-response'
    const settle = (other: Payment): Promise<SettleResponse> =>
      this.#settler!.settle(other, other.accepted)
    return {
      response,
      random,
      settle: async () => {
        const settled = await settle(payment)
        if (settled.success) this.#made.push(settled.transaction)
        return settled
      },
      overcharge: () => settle(withMore(payment)),
      says: (status: number, receipt?: object) => {
        const value = Buffer.from(JSON.stringify(receipt ?? null)).toString('base64')
        response.writeHead(status, receipt ? { [receiptName]: value } : {}).end('goods')
      },
      demand: () => offer(name, ware, response),
      later: (work: Promise<unknown>) => this.#pending.add(work),
      known: () => this.#made.at(-1) ?? random.hex(32),
    }
  }
}

const walletOf = (random: Random, host: string): Hex => random.of(`first ${host}`).hex(20)
const secondOf = (random: Random, host: string): Hex => random.of(`second ${host}`).hex(20)

/** A payment of either version, in the form of version 2. */
function paymentOf(header: string, ware: Ware): Payment {
  const payment = JSON.parse(Buffer.from(header, 'base64').toString())
  if (payment.x402Version === 2) return payment
  return { x402Version: 2, accepted: requirementV1(ware), payload: payment.payload }
}

const withMore = (payment: Payment): Payment => {
  const authorization = { ...payment.payload.authorization, value: '999999' }
  const accepted = { ...payment.accepted, amount: '999999' }
  return { ...payment, accepted, payload: { ...payment.payload, authorization } }
}
