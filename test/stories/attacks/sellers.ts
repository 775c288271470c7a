import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { encodePaymentRequiredHeader, encodePaymentResponseHeader } from '@x402/core/http'
import type { PaymentRequired, SettleResponse } from '@x402/core/types'
import { type Hex, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import type { Facilitator } from '../../../core/payments/facilitators/facilitator.ts'
import { type Payment, readPayment } from '../../../core/payments/receiving/payment.ts'
import { type Listening, listen } from '../../core/egress/fixture.ts'

/** Whom an honest seller has paid, and whom an attacker. Nobody has the keys. */
export const SHOP: Hex = '0x5d6dF6b10C54617dac4Bf9993ad9fA384b7B36d3'
export const THIEF: Hex = '0x00000000000000000000000000000000000bad00'
/** What is sold costs this, where a test says nothing else; microdollars. */
export const PRICE = 20_000n

type Json = Readonly<Record<string, unknown>>
/** What a dishonest seller writes instead. */
export type Change = Json

/** One way to pay, as an honest seller writes it. */
export const entry = (change: Change = {}) => ({
  scheme: 'exact',
  network: USDC_BASE.network,
  amount: String(PRICE),
  asset: USDC_BASE.address,
  payTo: SHOP,
  maxTimeoutSeconds: 60,
  extra: { name: USDC_BASE.name, version: USDC_BASE.version },
  ...change,
})

/** The same in the words of version 1. */
export const entryV1 = (change: Change = {}) => {
  const { amount, ...rest } = entry()
  const network = USDC_BASE.v1Network
  return { ...rest, network, maxAmountRequired: amount, resource: '/', ...change }
}

/** A paid request, and what its seller can do with it. */
export interface Sale {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly payment: Payment
  /** Brings the payment onto the chain, or tries to. */
  readonly settle: () => Promise<SettleResponse>
  readonly says: (status: number, body?: string, headers?: Readonly<Record<string, string>>) => void
}

export interface Paywall {
  /** @defaultValue an honest one */
  readonly accepts?: readonly Json[]
  /** What is said to be sold. @defaultValue the URL that was asked */
  readonly resource?: Json
  /** Of the 402, beside the offer in its header. */
  readonly body?: unknown
  /** @defaultValue `honest` */
  readonly paid?: ((sale: Sale) => unknown) | undefined
}

/** Takes the money and delivers. */
export const honest = async (sale: Sale): Promise<void> => {
  const receipt = await sale.settle()
  sale.says(200, 'goods', { 'payment-response': encodePaymentResponseHeader(receipt) })
}

/** One request that reached a seller. */
export interface Visit {
  readonly host: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** The signed payment that it brought. */
  readonly payment: Payment | undefined
}

/** Sellers under any number of names, on one port; each test writes what they answer. */
export class Sellers {
  readonly #server: Listening
  readonly #shops: Map<string, RequestListener>
  /** Whoever brings payments onto the chain for them. */
  facilitator: Facilitator | undefined

  private constructor(server: Listening, shops: Map<string, RequestListener>) {
    this.#server = server
    this.#shops = shops
  }

  static async open(): Promise<Sellers> {
    const shops = new Map<string, RequestListener>()
    const server = await listen((request, response) => {
      const shop = shops.get(hostOf(request.headers))
      if (shop) shop(request, response)
      else response.writeHead(404).end()
    })
    return new Sellers(server, shops)
  }

  get port(): number {
    return this.#server.port
  }

  get visits(): readonly Visit[] {
    return this.#server.seen.map(({ url, headers, body }) => ({
      host: hostOf(headers),
      url,
      headers,
      body,
      payment: paymentOf(headers),
    }))
  }

  /** Every payment that any of them has seen, in turn. */
  get payments(): readonly Payment[] {
    return this.visits.flatMap(({ payment }) => payment ?? [])
  }

  /** Lets a name answer; without `answer`, behind an honest paywall. */
  at(host: string, answer: RequestListener | Paywall = {}): void {
    this.#shops.set(host, typeof answer === 'function' ? answer : this.#paywall(answer))
  }

  /** All go home, and forget who came. */
  clear(): void {
    this.#shops.clear()
    this.#server.seen.length = 0
  }

  close(): Promise<void> {
    return this.#server.stop()
  }

  #paywall({ accepts = [entry()], resource, body = {}, paid = honest }: Paywall): RequestListener {
    return (request, response) => {
      const payment = paymentOf(request.headers)
      if (payment) {
        const sale = this.#saleOf(request, response, payment)
        return void (async () => paid(sale))().catch(() => response.destroy())
      }
      const url = `http://${request.headers.host}${request.url}`
      const offer = { x402Version: 2, resource: resource ?? { url }, accepts }
      const header = encodePaymentRequiredHeader(offer as unknown as PaymentRequired)
      response.writeHead(402, { 'payment-required': header, 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }
  }

  #saleOf(request: IncomingMessage, response: ServerResponse, payment: Payment): Sale {
    return {
      request,
      response,
      payment,
      settle: () => this.settle(payment),
      says: (status, body = '', headers = {}) => void response.writeHead(status, headers).end(body),
    }
  }

  /** Brings a payment that a seller has onto the chain, whenever it likes. */
  settle(payment: Payment): Promise<SettleResponse> {
    return this.facilitator!.settle(payment, payment.accepted)
  }
}

const hostOf = ({ host = '' }: IncomingMessage['headers']): string => host.replace(/:\d+$/, '')

const paymentOf = (headers: IncomingMessage['headers']): Payment | undefined => {
  const header = headers['payment-signature']
  return header === undefined ? undefined : readPayment(header)
}
