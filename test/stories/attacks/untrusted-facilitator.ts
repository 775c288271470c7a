import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { encodePaymentRequiredHeader } from '@x402/core/http'
import type { SettleResponse } from '@x402/core/types'
import { Challenge } from 'mppx'
import { evm } from 'mppx/client'
import type { LocalAccount } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../../core/client/index.ts'
import { systemClock } from '../../../core/clock.ts'
import type { Hex } from '../../../core/payments/chain/asset.ts'
import { type Payment, readPayment } from '../../../core/payments/receiving/payment.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { identityOf, productionOf, type Stack, startStack } from '../../core/payments/stack.ts'
import { type ApiResponse, ask } from '../../support/ask.ts'
import { startTestHub, type TestHub } from '../../support/hub.ts'
import { entry } from './sellers.ts'
import { signPayment } from './sign-payment.ts'

/** A settlement request to the facilitator. */
export interface SettleRequest {
  readonly payment: Payment
  /** Signer of the payment, who may collude with the facilitator. */
  readonly payer: LocalAccount
  readonly response: ServerResponse
  readonly respond: (answer: Partial<SettleResponse>) => void
}
export type SettleBehavior = (request: SettleRequest) => unknown
/** Behavior for the payments of each wallet. */
type SettleBehaviors = Map<string, readonly [LocalAccount, SettleBehavior]>

/** Order of a buyer at the hub: credits for a key, or a call. */
export interface Order {
  readonly path: string
  readonly body: object
}

/** Protocol of a payment. */
export type Rail = 'x402' | 'MPP'

/** Signs the payment of an offer, as a header beside a key. */
const PAYMENT_HEADERS: Readonly<
  Record<
    Rail,
    (account: PrivateKeyAccount, offered: ApiResponse) => Promise<Record<string, string>>
  >
> = {
  x402: async (account, offered) => ({
    'payment-signature': await signPayment(account, offered, systemClock.now()),
  }),
  MPP: async (account, { headers }) => {
    const challenge = Challenge.deserialize(String(headers['www-authenticate']))
    const { createCredential } = evm.charge({ account, currencies: [evm.assets.base.USDC] })
    const context = { challenge: challenge as never, context: {} }
    return { 'payment-authorization': await createCredential(context) }
  },
}

/** A buyer that sends one payment any number of times. */
export interface Buyer {
  readonly keyId: string
  readonly wallet: LocalAccount
  readonly send: () => Promise<ApiResponse>
}

/**
 * A production hub on a local chain with an external facilitator that verifies honestly and settles
 * as the test defines.
 */
export class UntrustedFacilitator {
  readonly stack: Stack
  readonly #acts: SettleBehaviors
  #server: Server
  #hub: TestHub | undefined

  private constructor(stack: Stack, server: Server, acts: SettleBehaviors) {
    this.stack = stack
    this.#server = server
    this.#acts = acts
  }

  static async open(): Promise<UntrustedFacilitator> {
    const stack = await startStack()
    const acts: SettleBehaviors = new Map()
    const server = await serve(stack, acts)
    const untrusted = new UntrustedFacilitator(stack, server, acts)
    const facilitator = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
    const production = { ...productionOf(stack), facilitator }
    try {
      const chainIdentity = await identityOf(stack)
      const config = { production }
      untrusted.#hub = await startTestHub({ config, chainIdentity })
      return untrusted
    } catch (error) {
      await untrusted.close()
      throw error
    }
  }

  get hub(): TestHub {
    return this.#hub!
  }

  /** Registers a buyer with `usdc`, whose payment is settled with the given behavior. */
  async createBuyer(
    order: Order,
    usdc: bigint,
    act: SettleBehavior,
    rail: Rail = 'x402',
  ): Promise<Buyer> {
    const { url } = this.hub
    const wallet = privateKeyToAccount(generatePrivateKey())
    await fund(this.stack.rpcUrl, wallet.address, { usdc })
    const client = new HubClient({ baseUrl: url, wallet: { account: wallet, sandbox: false } })
    const { keyId, apiKey: key } = await client.register()
    this.#acts.set(wallet.address, [wallet, act])
    const offered = await ask(url, order.path, { ...order, key })
    const headers = await PAYMENT_HEADERS[rail](wallet, offered)
    const send = () => ask(url, order.path, { ...order, key, headers })
    return { keyId, wallet, send }
  }

  /** Settles a payment on the chain. */
  settle(payment: Payment): Promise<SettleResponse> {
    return this.stack.facilitator.settle(payment, payment.accepted)
  }

  /** Makes a payment and returns its transaction. */
  async createTransaction(from: LocalAccount, to: Hex, value: bigint): Promise<string> {
    const accepts = [entry({ payTo: to, amount: String(value) })]
    const resource = { url: 'http://shop.test/' }
    const header = encodePaymentRequiredHeader({ x402Version: 2, resource, accepts })
    const offered = { headers: { 'payment-required': header } } as unknown as ApiResponse
    const payment = readPayment(await signPayment(from, offered, systemClock.now()))
    return (await this.settle(payment)).transaction
  }

  /** Refuses connections during `work`, at once or after it has verified a payment. */
  async whileUnreachable<T>(from: 'at once' | 'verified', work: () => Promise<T>): Promise<T> {
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

/** Event of the server after it sent a verification. */
const VERIFIED = 'verified'

async function serve(stack: Stack, acts: SettleBehaviors, port = 0): Promise<Server> {
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
      const respond = (more: object): void =>
        void response.end(JSON.stringify({ success: false, transaction: '', network, ...more }))
      const [payer, act] = acts.get(payment.payload.authorization.from)!
      return act({ payment, payer, response, respond })
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
