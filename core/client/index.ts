import { request as send } from 'undici'
import type { LocalAccount } from 'viem'
import { systemClock } from '../clock.ts'
import type { Micros } from '../money.ts'
import { signPayment } from '../payments/buying.ts'
import { chooseTerms, parseOffer } from '../payments/terms.ts'

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
  readonly apiKey?: string
  readonly wallet?: ClientWallet
  /** For each request. @defaultValue 120000 */
  readonly timeoutMs?: number
}

export interface CallOptions {
  /** Microdollars; dearer calls are refused before they are made. */
  readonly maxPrice?: bigint
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Pays a 402 by x402 with the wallet, at most this much (microdollars). */
  readonly payUpTo?: bigint
}

/** An answer of the hub that was not a success; `code` is stable, `body` the whole problem. */
export class HubError extends Error {
  override readonly name = 'HubError'
  readonly status: number
  readonly code: string
  readonly body: Readonly<Record<string, unknown>>
  constructor(status: number, body: Readonly<Record<string, unknown>>) {
    const { code, detail } = body as { code?: string; detail?: string }
    super(`${status} ${code ?? ''}: ${detail ?? ''}`)
    this.status = status
    this.code = code ?? 'unknown'
    this.body = body
  }
}

export interface Answer<Body = Readonly<Record<string, unknown>>> {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Body
  /** Microdollars. */
  readonly charged: bigint
  readonly source: string | undefined
  readonly callId: string | undefined
}

interface Message {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** How much an offer to pay (402) may cost, in microdollars; left out: it is an error. */
  readonly payUpTo?: bigint | undefined
}

const TIMEOUT_MS = 120_000
/** The header that makes a 402 an offer; others say that paying is of no use. */
const OFFER = 'payment-required'
/** A hub verifies that a payment outlives the deadline of the call that it pays. */
const LIFETIME_SECONDS = 600n

/** Talks to a hub over HTTP: what the command line, tests and other programs use. */
export class HubClient {
  readonly #options: ClientOptions
  #sandbox: Promise<boolean> | undefined

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

  /** Buys credits by an x402 payment of exactly `amount` microdollars. */
  purchase(amount: Micros): Promise<Answer> {
    return this.send('/v1/credits/purchase', {
      method: 'POST',
      body: { amount_microdollars: Number(amount) },
      payUpTo: amount,
    })
  }

  /** Calls an endpoint of a native service through the proxy. */
  call(slug: string, path: string, input?: unknown, options: CallOptions = {}): Promise<Answer> {
    const { method = 'POST', maxPrice, payUpTo } = options
    const address = `/proxy/${slug}${path}${method === 'GET' ? queryOf(input) : ''}`
    const headers = maxPrice === undefined ? {} : { 'x-max-price': String(maxPrice) }
    return this.send(address, {
      method,
      headers,
      payUpTo,
      ...(method === 'GET' ? {} : { body: input }),
    })
  }

  /** Calls somebody else's x402 API; the key's credits pay what it asks. */
  external(request: {
    readonly url: string
    readonly method?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: unknown
  }): Promise<Answer> {
    return this.send('/proxy/external', { method: 'POST', body: request })
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
  async send(path: string, message: Message = {}): Promise<Answer> {
    const first = await this.#once(path, message)
    const answer =
      first.status === 402 && OFFER in first.headers && message.payUpTo !== undefined
        ? await this.#once(path, { ...message, headers: await this.#payment(first, message) })
        : first
    const { status, headers } = answer
    // A problem may have status 202: a payment that is pending bought nothing yet.
    const isProblem = /^application\/problem\+json\b/.test(String(headers['content-type']))
    if (isProblem || status < 200 || status > 299) throw new HubError(status, answer.body)
    return answer
  }

  async #once(path: string, { method = 'GET', body, headers = {} }: Message): Promise<Answer> {
    const { baseUrl, apiKey, timeoutMs = TIMEOUT_MS } = this.#options
    const response = await send(new URL(path, baseUrl), {
      method: method as 'GET',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        ...headers,
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.body.text()
    const one = (name: string) => response.headers[name]?.toString()
    return {
      status: response.statusCode,
      headers: response.headers,
      body: parse(text),
      charged: BigInt(one('x-charged-microdollars') ?? 0),
      source: one('x-payment-source'),
      callId: one('x-call-id'),
    }
  }

  async #payment(offered: Answer, message: Message): Promise<Record<string, string>> {
    const { account } = await this.#wallet()
    const body = Buffer.from(JSON.stringify(offered.body))
    const terms = chooseTerms(parseOffer({ headers: offered.headers, body }), {
      host: new URL(this.#options.baseUrl).hostname,
      maxAmount: message.payUpTo ?? 0n,
      ownWallets: [account.address],
    })
    const { header } = await signPayment(account, terms, systemClock.now(), LIFETIME_SECONDS)
    return { ...message.headers, [header.name.toLowerCase()]: header.value }
  }

  /** The wallet, once it is sure that hub and wallet are of one kind. */
  async #wallet(): Promise<ClientWallet> {
    const { wallet } = this.#options
    if (!wallet) throw new Error('This needs a wallet.')
    this.#sandbox ??= this.#once('/health', {}).then(({ body }) => body['sandbox'] === true)
    const hubIsSandbox = await this.#sandbox
    if (hubIsSandbox && !wallet.sandbox) {
      throw new Error('This hub is a sandbox: do not sign for it with a wallet made elsewhere.')
    }
    if (!hubIsSandbox && wallet.sandbox) {
      throw new Error('This hub handles real money: a wallet of a sandbox has none.')
    }
    return wallet
  }
}

function queryOf(input: unknown): string {
  const query = new URLSearchParams(input as Record<string, string> | undefined)
  return query.size > 0 ? `?${query.toString()}` : ''
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null
      ? (value as Record<string, unknown>)
      : { value }
  } catch {
    return { text }
  }
}
