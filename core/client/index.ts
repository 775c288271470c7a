import { randomUUID } from 'node:crypto'
import type { LocalAccount } from 'viem'
import type { Micros } from '../money.ts'
import {
  type Answer,
  HubError,
  type HubRequest,
  sendRequest,
  sendWithRetries,
} from './transport.ts'

export { usd } from '../money.ts'
export { type Answer, HubError, HubUnreachable } from './transport.ts'

/** A wallet that registers and pays. */
export interface ClientWallet {
  readonly account: LocalAccount
  /**
   * True for a wallet that a sandbox made. What such a wallet signs would be valid on the real
   * chain too, so wallets and hubs of different kinds never sign for each other.
   */
  readonly sandbox: boolean
}

export interface ClientOptions {
  /** The hub's origin: `http://127.0.0.1:8402`. */
  readonly baseUrl: string
  /** Where calls go. @defaultValue `{baseUrl}/proxy` */
  readonly proxyUrl?: string | undefined
  readonly apiKey?: string | undefined
  readonly wallet?: ClientWallet | undefined
  /** For each request. @defaultValue 120000 */
  readonly timeoutMs?: number
}

export interface CallOptions {
  /** Microdollars; dearer calls are refused before they are made. */
  readonly maxPrice?: bigint | undefined
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  /** Pays a 402 by x402 with the wallet, at most this much (microdollars). */
  readonly payUpTo?: bigint | undefined
  /**
   * Your name for this very call: it is charged once, however often it is sent, and a lost answer
   * is asked for again. Left out: nothing is sent twice.
   */
  readonly idempotencyKey?: string | undefined
  /** Says what the call would cost and who would pay. Nothing is called or charged. */
  readonly dryRun?: boolean
  readonly signal?: AbortSignal
}

/** A request to somebody else's x402 API (specification §2.4). */
export interface ExternalOrder {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** A name that no other call has. */
export const newIdempotencyKey = (): string => randomUUID()

interface SendOptions extends HubRequest {
  /** How much an offer to pay (402) may cost, in microdollars; left out: it is an error. */
  readonly payUpTo?: bigint | undefined
  /** It may be sent again. */
  readonly retries?: boolean
}

const TIMEOUT_MS = 120_000
/** The header that makes a 402 an offer; others say that paying is of no use. */
const OFFER_HEADER = 'payment-required'

/** Talks to a hub over HTTP: what the command line, tests and other programs use. */
export class HubClient {
  readonly #options: ClientOptions
  #isSandbox: Promise<boolean> | undefined

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /** The same client with another key. */
  withKey(apiKey: string): HubClient {
    return new HubClient({ ...this.#options, apiKey })
  }

  /** Registers the wallet and gives a client that uses the new key (specification §5.1). */
  async register(): Promise<{
    readonly client: HubClient
    readonly apiKey: string
    readonly keyId: string
  }> {
    const { account } = await this.#wallet()
    const query = `?wallet_address=${account.address}`
    const { body: challenge } = await this.send(`/v1/register/challenge${query}`)
    const message = String(challenge['message'])
    if (!message.startsWith(`${new URL(this.#options.baseUrl).host} wants you to sign in`)) {
      throw new Error('The challenge names another host: not signed.')
    }
    const signature = await account.signMessage({ message })
    const { nonce } = challenge
    const body = { wallet_address: account.address, signature, nonce }
    const { body: made } = await this.send('/v1/register', { method: 'POST', body })
    const apiKey = String(made['api_key'])
    return { client: this.withKey(apiKey), apiKey, keyId: String(made['key_id']) }
  }

  /**
   * Buys credits by an x402 payment of exactly `amount` microdollars.
   * @param purchaseId your name for it: bought once, however often it is sent
   */
  purchase(amount: Micros, purchaseId?: string): Promise<Answer> {
    const named = purchaseId === undefined ? {} : { purchase_id: purchaseId }
    return this.send('/v1/credits/purchase', {
      method: 'POST',
      body: { amount_microdollars: Number(amount), ...named },
      payUpTo: amount,
    })
  }

  /**
   * Calls an endpoint of a native service through the proxy.
   * @param input the query of a GET or DELETE, else the body
   */
  call(slug: string, path: string, input?: unknown, options: CallOptions = {}): Promise<Answer> {
    const { method = 'POST' } = options
    const inQuery = method === 'GET' || method === 'DELETE'
    const target = `/${slug}${path}${inQuery ? queryString(input) : ''}`
    return this.#call(target, { method, ...(inQuery ? {} : { body: input }) }, options)
  }

  /** Calls somebody else's x402 API; the key's credits pay what it asks. */
  external(order: ExternalOrder, options: CallOptions = {}): Promise<Answer> {
    return this.#call('/external', { method: 'POST', body: order }, options)
  }

  search(order: Readonly<Record<string, unknown>>): Promise<Answer> {
    return this.send('/v1/search', { method: 'POST', body: order })
  }

  balance(): Promise<Answer> {
    return this.send('/v1/wallet/balance')
  }

  /**
   * Sends one request; with `payUpTo`, pays the offer of a 402 once and sends it again.
   * @throws HubError for a problem, and for anything but a 2xx
   */
  async send(path: string, order: SendOptions = {}): Promise<Answer> {
    const { payUpTo, retries: repeatable = false, ...message } = order
    const ask = (more: Readonly<Record<string, string>> = {}): Promise<Answer> => {
      const once = () =>
        this.#exchange(path, { ...message, headers: { ...message.headers, ...more } })
      return repeatable ? sendWithRetries(once) : once()
    }
    const first = await ask()
    const isOffer = first.status === 402 && OFFER_HEADER in first.headers && payUpTo !== undefined
    const answer = isOffer ? await ask(await this.#paymentHeader(first, path, payUpTo)) : first
    const { status, headers } = answer
    // A problem may have status 202: a payment that is pending bought nothing yet.
    const isProblem = /^application\/problem\+json\b/.test(String(headers['content-type']))
    if (isProblem || status < 200 || status > 299) throw new HubError(status, answer.body)
    return answer
  }

  #call(target: string, message: HubRequest, options: CallOptions): Promise<Answer> {
    const { maxPrice, idempotencyKey, payUpTo, dryRun, signal, headers = {} } = options
    const { baseUrl, proxyUrl = `${baseUrl}/proxy` } = this.#options
    const url = new URL(`${proxyUrl}${target}`)
    if (dryRun) url.searchParams.set('dry_run', 'true')
    return this.send(url.href, {
      ...message,
      headers: {
        ...headers,
        ...(maxPrice === undefined ? {} : { 'x-max-price': String(maxPrice) }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': `"${idempotencyKey}"` }),
      },
      payUpTo,
      retries: idempotencyKey !== undefined,
      signal,
    })
  }

  #exchange(path: string, message: HubRequest): Promise<Answer> {
    const { baseUrl, apiKey, timeoutMs = TIMEOUT_MS } = this.#options
    return sendRequest({ baseUrl, apiKey, timeoutMs }, path, message)
  }

  async #paymentHeader(offered: Answer, path: string, maxAmount: bigint) {
    const { account } = await this.#wallet()
    const { createPaymentHeader: payment } = await import('./pay.ts') // signing takes long to load
    const { hostname: host } = new URL(path, this.#options.baseUrl)
    return payment(account, offered, { host, maxAmount })
  }

  /** The wallet, once it is sure that hub and wallet are of one kind. */
  async #wallet(): Promise<ClientWallet> {
    const { wallet } = this.#options
    if (!wallet) throw new Error('This needs a wallet.')
    this.#isSandbox ??= this.#exchange('/health', {}).then(({ body }) => body['sandbox'] === true)
    const hubIsSandbox = await this.#isSandbox
    if (hubIsSandbox && !wallet.sandbox) {
      throw new Error('This hub is a sandbox: do not sign for it with a wallet made elsewhere.')
    }
    if (!hubIsSandbox && wallet.sandbox) {
      throw new Error('This hub handles real money: a wallet of a sandbox has none.')
    }
    return wallet
  }
}

function queryString(input: unknown): string {
  const query = new URLSearchParams(input as Record<string, string> | undefined)
  return query.size > 0 ? `?${query.toString()}` : ''
}
