import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { encodePaymentRequiredHeader, encodePaymentResponseHeader } from '@x402/core/http'
import type { PaymentRequired, SettleResponse } from '@x402/core/types'
import { type Hex, USDC_BASE } from '../../../core/payments/chain/asset.ts'
import type { Facilitator } from '../../../core/payments/facilitators/facilitator.ts'
import { type Payment, readPayment } from '../../../core/payments/receiving/payment.ts'
import { type Listening, listen } from '../../core/egress/fixture.ts'

/** Payees of the honest seller and of the attacker. Nobody has their keys. */
export const SHOP: Hex = '0x5d6dF6b10C54617dac4Bf9993ad9fA384b7B36d3'
export const THIEF: Hex = '0x00000000000000000000000000000000000bad00'
/** Default price in microdollars. */
export const PRICE = 20_000n

type Json = Readonly<Record<string, unknown>>
/** Members that a dishonest seller changes. */
export type EntryChange = Json

/** Honest entry of an offer. */
export const entry = (change: EntryChange = {}) => ({
  scheme: 'exact',
  network: USDC_BASE.network,
  amount: String(PRICE),
  asset: USDC_BASE.address,
  payTo: SHOP,
  maxTimeoutSeconds: 60,
  extra: { name: USDC_BASE.name, version: USDC_BASE.version },
  ...change,
})

/** Honest entry of an offer in version 1. */
export const entryV1 = (change: EntryChange = {}) => {
  const { amount, ...rest } = entry()
  const network = USDC_BASE.v1Network
  return { ...rest, network, maxAmountRequired: amount, resource: '/', ...change }
}

/** A paid request and the seller's actions. */
export interface Sale {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly payment: Payment
  /** Tries to settle the payment on the chain. */
  readonly settle: () => Promise<SettleResponse>
  readonly respond: (
    status: number,
    body?: string,
    headers?: Readonly<Record<string, string>>,
  ) => void
}

export interface Paywall {
  /** @defaultValue an honest one */
  readonly accepts?: readonly Json[]
  /** Resource named in the offer. @defaultValue the requested URL */
  readonly resource?: Json
  /** Body of the 402, besides the offer in its header. */
  readonly body?: unknown
  /** @defaultValue `honest` */
  readonly paid?: ((sale: Sale) => unknown) | undefined
}

/** Settles the payment and delivers. */
export const settleAndDeliver = async (sale: Sale): Promise<void> => {
  const receipt = await sale.settle()
  sale.respond(200, 'goods', { 'payment-response': encodePaymentResponseHeader(receipt) })
}

/** One request that reached a seller. */
export interface Visit {
  readonly host: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  /** Its signed payment, if any. */
  readonly payment: Payment | undefined
}

/** Sellers under any number of host names on one port; each test defines their responses. */
export class Sellers {
  readonly #server: Listening
  readonly #shops: Map<string, RequestListener>
  /** Facilitator that settles for all sellers. */
  facilitator: Facilitator | undefined

  private constructor(server: Listening, shops: Map<string, RequestListener>) {
    this.#server = server
    this.#shops = shops
  }

  static async open(): Promise<Sellers> {
    const shops = new Map<string, RequestListener>()
    const server = await listen((request, response) => {
      const shop = shops.get(hostIn(request.headers))
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
      host: hostIn(headers),
      url,
      headers,
      body,
      payment: paymentIn(headers),
    }))
  }

  /** Every payment that any seller received, in order. */
  get payments(): readonly Payment[] {
    return this.visits.flatMap(({ payment }) => payment ?? [])
  }

  /** Serves a host name, by default with an honest paywall. */
  serve(host: string, answer: RequestListener | Paywall = {}): void {
    this.#shops.set(host, typeof answer === 'function' ? answer : this.#paywall(answer))
  }

  /** Removes all sellers and visits. */
  clear(): void {
    this.#shops.clear()
    this.#server.seen.length = 0
  }

  close(): Promise<void> {
    return this.#server.stop()
  }

  #paywall({
    accepts = [entry()],
    resource,
    body = {},
    paid = settleAndDeliver,
  }: Paywall): RequestListener {
    return (request, response) => {
      const payment = paymentIn(request.headers)
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
      respond: (status, body = '', headers = {}) =>
        void response.writeHead(status, headers).end(body),
    }
  }

  /** Settles a payment that a seller received. */
  settle(payment: Payment): Promise<SettleResponse> {
    return this.facilitator!.settle(payment, payment.accepted)
  }
}

const hostIn = ({ host = '' }: IncomingMessage['headers']): string => host.replace(/:\d+$/, '')

const paymentIn = (headers: IncomingMessage['headers']): Payment | undefined => {
  const header = headers['payment-signature']
  return header === undefined ? undefined : readPayment(header)
}
