import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { encodePaymentRequiredHeader } from '@x402/core/http'
import type { SettleResponse } from '@x402/core/types'
import type { LocalAccount } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../../core/client/index.ts'
import { systemClock } from '../../../core/clock.ts'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import { type Payment, readPayment } from '../../../core/payments/receiving/payment.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { type Stack, startStack } from '../../core/payments/stack.ts'
import { ask, type Told } from '../../support/ask.ts'
import { startTestHub, type TestHub } from '../../support/hub.ts'
import { pay } from './payments.ts'
import { entry } from './sellers.ts'

/** A payment that a facilitator is asked to settle, and what it can do with it. */
export interface Asked {
  readonly payment: Payment
  /** Who signed it: it may be in league with the facilitator. */
  readonly payer: LocalAccount
  readonly response: ServerResponse
  readonly says: (answer: Partial<SettleResponse>) => void
}
export type Act = (asked: Asked) => unknown
/** What is done with the payments of each wallet. */
type Acts = Map<string, readonly [LocalAccount, Act]>

/** What one buys from the hub: credits for a key, or a call. */
export interface Order {
  readonly path: string
  readonly body: object
}

/** One who buys with one payment, as often as it sends it. */
export interface Buyer {
  readonly keyId: string
  readonly wallet: LocalAccount
  readonly payment: Payment
  readonly send: () => Promise<Told>
}

/**
 * A hub of real money, on a chain of this machine, by a facilitator of somebody else, which
 * verifies honestly and settles as the test says.
 */
export class Suspect {
  readonly stack: Stack
  readonly #acts: Acts
  #server: Server
  #hub: TestHub | undefined

  private constructor(stack: Stack, server: Server, acts: Acts) {
    this.stack = stack
    this.#server = server
    this.#acts = acts
  }

  static async open(): Promise<Suspect> {
    const stack = await startStack()
    const acts: Acts = new Map()
    const server = await serve(stack, acts)
    const suspect = new Suspect(stack, server, acts)
    const { rpcUrl, payTo: treasury, wallets } = stack
    const facilitator = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
    const production = { rpcUrl, treasury, spendKey: wallets.spend.key, facilitator }
    try {
      suspect.#hub = await startTestHub({ config: { production, jobs: false } })
      return suspect
    } catch (error) {
      await suspect.close()
      throw error
    }
  }

  get hub(): TestHub {
    return this.#hub!
  }

  /** A registered buyer with twice the money, whose payment will be settled so. */
  async buyer(order: Order, usdc: bigint, act: Act): Promise<Buyer> {
    const { url } = this.hub
    const wallet = privateKeyToAccount(generatePrivateKey())
    await fund(this.stack.rpcUrl, wallet.address, { usdc })
    const client = new HubClient({ baseUrl: url, wallet: { account: wallet, sandbox: false } })
    const { keyId, apiKey: key } = await client.register()
    this.#acts.set(wallet.address, [wallet, act])
    const offered = await ask(url, order.path, { ...order, key })
    const header = await pay(wallet, offered, systemClock.now())
    const headers = { 'payment-signature': header }
    const send = () => ask(url, order.path, { ...order, key, headers })
    return { keyId, wallet, payment: readPayment(header), send }
  }

  /** Brings a payment onto the chain. */
  settle(payment: Payment): Promise<SettleResponse> {
    return this.stack.facilitator.settle(payment, payment.accepted)
  }

  /** Some payment, of which the chain knows the transaction. */
  async transaction(from: LocalAccount, to: Hex, value: bigint): Promise<string> {
    const accepts = [entry({ payTo: to, amount: String(value) })]
    const resource = { url: 'http://shop.test/' }
    const header = encodePaymentRequiredHeader({ x402Version: 2, resource, accepts })
    const offered = { headers: { 'payment-required': header } } as unknown as Told
    const payment = readPayment(await pay(from, offered, systemClock.now()))
    return (await this.settle(payment)).transaction
  }

  /** Refuses connections while `work` is done: at once, or from when it has verified a payment. */
  async unreachable<T>(from: 'at once' | 'verified', work: () => Promise<T>): Promise<T> {
    const server = this.#server
    const { port } = server.address() as AddressInfo
    const closed =
      from === 'at once' ? close(server) : once(server, VERIFIED).then(() => close(server))
    if (from === 'at once') await closed
    try {
      return await work()
    } finally {
      await closed
      this.#server = await serve(this.stack, this.#acts, port)
    }
  }

  async close(): Promise<void> {
    try {
      await this.#hub?.close()
    } finally {
      await close(this.#server)
      await this.stack.stop()
    }
  }
}

/** Told by the server when it has answered. */
const VERIFIED = 'verified'

async function serve(stack: Stack, acts: Acts, port = 0): Promise<Server> {
  const { facilitator } = stack
  const server = createServer((request, response) => {
    const answer = async (): Promise<unknown> => {
      const body = await text(request)
      if (body === '') return response.end(JSON.stringify(await facilitator.getSupported()))
      const { paymentPayload: payment, paymentRequirements: required } = JSON.parse(body)
      if (request.url === '/verify') {
        const verdict = JSON.stringify(await facilitator.verify(payment, required))
        return response.end(verdict, () => server.emit(VERIFIED))
      }
      const { network } = required
      const says = (more: object): void =>
        void response.end(JSON.stringify({ success: false, transaction: '', network, ...more }))
      const [payer, act] = acts.get(payment.payload.authorization.from)!
      return act({ payment, payer, response, says })
    }
    answer().catch(() => response.destroy())
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
