import { randomUUID } from 'node:crypto'
import type { LocalAccount } from 'viem'
import type { JsonObject } from '../json.ts'
import { decimal, type Micros } from '../money.ts'
import type { PaymentProtocol } from './pay.ts'
import {
  type ClientWait,
  HubError,
  type HubRequest,
  type HubResponse,
  isOffering,
  sendRequest,
  sendWithRetries,
} from './transport.ts'

export { usd } from '../money.ts'
export { PaymentTermsError } from '../payments/paying/terms-error.ts'
export type { PaymentProtocol } from './pay.ts'
export * from './proofs/index.ts'
export {
  type ClientWait,
  clockLeadMs,
  HubError,
  type HubResponse,
  HubUnreachable,
} from './transport.ts'

/** A wallet that signs registrations and payments. */
export interface ClientWallet {
  readonly account: LocalAccount
  /** True for a sandbox wallet: signs for sandboxes only, because real chains accept it too. */
  readonly sandbox: boolean
}

export interface ClientOptions {
  /** Origin of the hub, such as `http://127.0.0.1:8402`. */
  readonly baseUrl: string
  /** Base URL of calls. @defaultValue `{baseUrl}/proxy` */
  readonly proxyUrl?: string | undefined
  readonly apiKey?: string | undefined
  readonly wallet?: ClientWallet | undefined
  /** Timeout per request. @defaultValue 120000 */
  readonly timeoutMs?: number
  /**
   * Time to wait for the final response of a request that is charged once: one with an idempotency
   * key or a payment. @defaultValue 60000
   */
  readonly waitMs?: number
  /** Called before each such pause. */
  readonly onWait?: ((wait: ClientWait) => void) | undefined
}

export interface CallOptions {
  /** Maximum price in microdollars; more expensive calls are refused before they are made. */
  readonly maxPrice?: bigint | undefined
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly headers?: Readonly<Record<string, string>>
  /** Pays a 402 from the wallet, up to this amount in microdollars. */
  readonly payUpTo?: bigint | undefined
  /** Protocol by which `payUpTo` pays. @defaultValue `x402` */
  readonly protocol?: PaymentProtocol | undefined
  /** Without a key: signs the challenge of a 402 to spend credits of the wallet, up to this. */
  readonly signInUpTo?: bigint | undefined
  /** Unique name of this call, which is then charged once and retried after a lost response. */
  readonly idempotencyKey?: string | undefined
  /** Returns the price and the paying source without calling or charging. */
  readonly dryRun?: boolean
  readonly signal?: AbortSignal
}

/** A request to an external x402 API. */
export interface ExternalOrder {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Payee address to accept although the seller had another one before. */
  readonly accept_pay_to?: string | undefined
}

/** A transfer of credits between two main keys of one wallet. */
export interface KeyTransferOrder {
  /** Key id. */
  readonly from: string
  readonly to: string
  readonly amount: Micros
}

/** Creates a unique idempotency key. */
export const newIdempotencyKey = (): string => randomUUID()

interface SendOptions extends HubRequest, Pick<CallOptions, 'payUpTo' | 'protocol' | 'signInUpTo'> {
  /** True if the request may safely be sent again. */
  readonly retries?: boolean
}

const TIMEOUT_MS = 120_000
const WAIT_MS = 60_000

/** HTTP client of a hub, used by the command line, tests and other programs. */
export class HubClient {
  readonly #options: ClientOptions
  #isSandbox: Promise<boolean> | undefined

  constructor(options: ClientOptions) {
    this.#options = options
  }

  /** Returns the same client with another key. */
  withKey(apiKey: string): HubClient {
    return new HubClient({ ...this.#options, apiKey })
  }

  /** Registers the wallet and returns a client that uses the new key. */
  async register(): Promise<{
    readonly client: HubClient
    readonly apiKey: string
    readonly keyId: string
  }> {
    const { account } = await this.#wallet()
    const query = `?wallet_address=${account.address}`
    const { body: challenge } = await this.send(`/v1/register/challenge${query}`)
    const body = { wallet_address: account.address, ...(await this.#sign(account, challenge)) }
    const { body: key } = await this.send('/v1/register', { method: 'POST', body })
    const apiKey = String(key['api_key'])
    return { client: this.withKey(apiKey), apiKey, keyId: String(key['key_id']) }
  }

  /** Moves credits between two main keys of the wallet, which signs the transfer. */
  async transfer(order: KeyTransferOrder): Promise<HubResponse> {
    const { account } = await this.#wallet()
    const body = {
      from_key_id: order.from,
      to_key_id: order.to,
      amount_microdollars: Number(order.amount),
    }
    const path = '/v1/credits/transfers'
    const { body: challenge } = await this.send(`${path}/challenge`, { method: 'POST', body })
    const message = String(challenge['message'])
    const { from, to } = order
    if (
      !message.includes(
        `Move ${decimal(order.amount)} USD of credits from key ${from} to key ${to}.`,
      )
    ) {
      throw new Error('The challenge is for another transfer, so it was not signed.')
    }
    const signed = await this.#sign(account, challenge)
    return this.send(path, { method: 'POST', body: signed, retries: true })
  }

  /** Buys `amount` microdollars of credits by x402, once per `purchaseId` however often sent. */
  purchase(amount: Micros, purchaseId?: string): Promise<HubResponse> {
    const named = purchaseId === undefined ? {} : { purchase_id: purchaseId }
    return this.send('/v1/credits/purchase', {
      method: 'POST',
      body: { amount_microdollars: Number(amount), ...named },
      payUpTo: amount,
    })
  }

  /**
   * Calls an endpoint of a native service through the proxy.
   * @param input query of a GET or DELETE, else the body
   */
  call(
    slug: string,
    path: string,
    input?: unknown,
    options: CallOptions = {},
  ): Promise<HubResponse> {
    const { method = 'POST' } = options
    const inQuery = method === 'GET' || method === 'DELETE'
    const target = `/${slug}${path}${inQuery ? queryString(input) : ''}`
    return this.#call(target, { method, ...(inQuery ? {} : { body: input }) }, options)
  }

  /** Calls an external x402 API, paid from the key's credits. */
  external(order: ExternalOrder, options: CallOptions = {}): Promise<HubResponse> {
    return this.#call('/external', { method: 'POST', body: order }, options)
  }

  search(order: JsonObject): Promise<HubResponse> {
    return this.send('/v1/search', { method: 'POST', body: order })
  }

  balance(): Promise<HubResponse> {
    return this.send('/v1/wallet/balance')
  }

  /**
   * Sends one request. With `payUpTo`, pays the offer of a 402 once and sends it again, repeatedly
   * with the same payment until the response is final. With `signInUpTo`, signs its challenge, and
   * a new one for each repetition.
   * @throws HubError for a problem or any status other than 2xx
   */
  async send(path: string, order: SendOptions = {}): Promise<HubResponse> {
    const { payUpTo, protocol, signInUpTo, retries = false, ...message } = order
    const { waitMs = WAIT_MS, onWait } = this.#options
    const request = (payment?: Readonly<Record<string, string>>): Promise<HubResponse> => {
      const headers = { ...message.headers, ...payment }
      const once = () =>
        this.#signedIn(path, { ...message, headers }, payment ? undefined : signInUpTo)
      if (!retries && !payment) return once()
      return sendWithRetries(once, { waitMs, onWait, signal: message.signal })
    }
    const first = await request()
    const isOffer = isOffering(first) && payUpTo !== undefined
    const payment = isOffer && (await this.#paymentHeader(first, path, payUpTo, protocol))
    const response = payment ? await request(payment) : first
    const { status, headers } = response
    const isProblem = /^application\/problem\+json\b/.test(String(headers['content-type']))
    // Also with status 202: a pending payment has bought nothing yet.
    if (isProblem || status < 200 || status > 299) {
      throw new HubError(response, payment || undefined)
    }
    return response
  }

  #call(target: string, message: HubRequest, options: CallOptions): Promise<HubResponse> {
    const { maxPrice, idempotencyKey, dryRun, method: _, headers = {}, ...rest } = options
    const { baseUrl, proxyUrl = `${baseUrl}/proxy` } = this.#options
    const url = new URL(`${proxyUrl}${target}`)
    if (dryRun) url.searchParams.set('dry_run', 'true')
    return this.send(url.href, {
      ...message,
      ...rest,
      headers: {
        ...headers,
        ...(maxPrice === undefined ? {} : { 'x-max-price': String(maxPrice) }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': `"${idempotencyKey}"` }),
      },
      retries: idempotencyKey !== undefined,
    })
  }

  #exchange(path: string, message: HubRequest): Promise<HubResponse> {
    const { baseUrl, apiKey, timeoutMs = TIMEOUT_MS } = this.#options
    return sendRequest({ baseUrl, apiKey, timeoutMs }, path, message)
  }

  /** Sends a request, again with its challenge signed if the response has one. */
  async #signedIn(
    path: string,
    message: HubRequest,
    maximum: bigint | undefined,
  ): Promise<HubResponse> {
    const first = await this.#exchange(path, message)
    if (maximum === undefined || !isOffering(first)) return first
    const { account } = await this.#wallet()
    const { createSignInHeader } = await import('./sign-in.ts') // lazy: signing is slow to load
    const url = new URL(path, this.#options.baseUrl)
    const signed = await createSignInHeader(account, first, url, maximum)
    if (!signed) return first
    return this.#exchange(path, { ...message, headers: { ...message.headers, ...signed } })
  }

  /** Signs a challenge of this hub. @throws Error if it names another host */
  async #sign(account: LocalAccount, { message, nonce }: JsonObject) {
    const text = String(message)
    if (!text.startsWith(`${new URL(this.#options.baseUrl).host} wants you to sign in`)) {
      throw new Error('The challenge names another host, so it was not signed.')
    }
    return { nonce, signature: await account.signMessage({ message: text }) }
  }

  async #paymentHeader(
    offered: HubResponse,
    path: string,
    maxAmount: bigint,
    protocol?: PaymentProtocol,
  ) {
    const pay = await import('./pay.ts') // lazy: signing is slow to load
    const { hostname: host } = new URL(path, this.#options.baseUrl)
    const limit = { host, maxAmount, lifetimeSeconds: pay.HUB_LIFETIME_SECONDS }
    const openAccount = async () => (await this.#wallet()).account
    return pay.createPaymentHeader(openAccount, offered, limit, protocol)
  }

  /** Returns the wallet after checking that hub and wallet are both sandbox or both real. */
  async #wallet(): Promise<ClientWallet> {
    const { wallet } = this.#options
    if (!wallet) throw new Error('This request needs a wallet.')
    this.#isSandbox ??= this.#exchange('/health', {}).then(({ body }) => body['sandbox'] === true)
    const hubIsSandbox = await this.#isSandbox
    if (hubIsSandbox && !wallet.sandbox) {
      throw new Error('This hub is a sandbox: use a wallet created by a sandbox.')
    }
    if (!hubIsSandbox && wallet.sandbox) {
      throw new Error('This hub handles real money: a sandbox wallet cannot be used.')
    }
    return wallet
  }
}

function queryString(input: unknown): string {
  const query = new URLSearchParams(input as Record<string, string> | undefined)
  return query.size > 0 ? `?${query.toString()}` : ''
}
