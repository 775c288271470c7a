import { HubClient } from '../../core/client/index.ts'
import { type BuyerWallet, buy, sign } from './buyer-payments.ts'
import { FACILITATOR_BEHAVIORS, type FacilitatorBehavior } from './facilitator-behaviors.ts'
import type { Market, Order } from './market.ts'
import { BAD_OFFERS, GOOD_OFFERS } from './offers.ts'
import type { Random } from './random.ts'
import { type PaidRequest, PURCHASE, type RequestRecorder } from './request-recorder.ts'
import { SELLER_BEHAVIOR_NAMES, SLOW_SELLER_BEHAVIORS } from './seller-behaviors.ts'

/** One kind of request or sequence that a buyer performs. */
export interface BuyerAction<Buyer> {
  /** Counter name; undefined if the action is counted elsewhere. */
  readonly name?: string
  readonly perform: (buyer: Buyer) => Promise<unknown>
}

export interface KeyedBuyerDeps {
  readonly url: () => string
  readonly recorder: RequestRecorder
  readonly market: Market
  readonly random: Random
  readonly buyerWallet: BuyerWallet
  readonly ip: string
}

const EXTERNAL = '/proxy/external'
/** Services that fail in every behavior a provider can, with different charges. */
const CALLS: readonly (readonly [path: string, body: object])[] = [
  ['/proxy/echo/say', { words: 'hi' }],
  ['/proxy/flawed/works', {}],
  ['/proxy/flawed/throws', {}],
  ['/proxy/flawed/refuses', {}],
  ['/proxy/flawed/hangs', {}],
  ['/proxy/flawed/lies', {}],
  ['/proxy/flawed/status-500', {}],
  ['/proxy/flawed/cheap', {}],
  ['/proxy/flawed/greedy', {}],
  ['/proxy/flawed/sly', {}],
  ['/proxy/gift/try', {}],
  ['/proxy/gift/try', { fail: true }],
]

/**
 * Buyer with an API key: buys credits with x402 and spends them on hub services and external
 * sellers.
 */
export class KeyedBuyer {
  readonly keyId: string
  readonly #apiKey: string
  readonly #deps: KeyedBuyerDeps
  #requestCount = 0

  private constructor(deps: KeyedBuyerDeps, keyId: string, apiKey: string) {
    this.#deps = deps
    this.keyId = keyId
    this.#apiKey = apiKey
  }

  static async register(deps: KeyedBuyerDeps): Promise<KeyedBuyer> {
    const wallet = { account: deps.buyerWallet.account, sandbox: true }
    const client = new HubClient({ baseUrl: deps.url(), wallet })
    const { keyId, apiKey } = await client.register()
    const buyer = new KeyedBuyer(deps, keyId, apiKey)
    await buyer.topUp('own')
    return buyer
  }

  /** Returns the key's balance and reserved amount in microdollars, as reported by the API. */
  async balances(): Promise<{ readonly balance: bigint; readonly reserved: bigint }> {
    const client = new HubClient({ baseUrl: this.#deps.url(), apiKey: this.#apiKey })
    const { body } = await client.send('/v1/credits/balance')
    const [balance, reserved] = [body['balance_microdollars'], body['reserved_microdollars']]
    return { balance: BigInt(String(balance)), reserved: BigInt(String(reserved)) }
  }

  topUp(behavior: FacilitatorBehavior): Promise<unknown> {
    const { recorder, random, buyerWallet } = this.#deps
    return buy(recorder, random, buyerWallet, this.#credits(), behavior)
  }

  /** Sends one named purchase with two payments concurrently, one of them twice. */
  async topUpTwice(): Promise<void> {
    const { recorder, random, buyerWallet } = this.#deps
    const request = this.#credits(`purchase-${++this.#requestCount}`)
    const offered = await recorder.ask(request)
    const one = await sign(random, buyerWallet, offered, 'own')
    const other = await sign(random, buyerWallet, offered, 'foreign')
    if (!one || !other) return
    await Promise.all([one, other, one].map((sent) => recorder.pay(sent, request)))
  }

  external(order: Order, more: Partial<PaidRequest> = {}): Promise<unknown> {
    const { market, random } = this.#deps
    return this.#call(EXTERNAL, { url: market.urlOf(order, random) }, more)
  }

  call(path: string, body: object): Promise<unknown> {
    return this.#call(path, body)
  }

  /** Sends a request three times concurrently and once more, with one Idempotency-Key. */
  async callThreeTimes(path: string, body: object): Promise<void> {
    const headers = { 'idempotency-key': `repeated-${this.keyId}-${++this.#requestCount}` }
    const once = () => this.#call(path, body, { headers })
    await Promise.all([once(), once(), once()])
    await once()
  }

  externalThreeTimes(order: Order): Promise<void> {
    const { market, random } = this.#deps
    return this.callThreeTimes(EXTERNAL, { url: market.urlOf(order, random) })
  }

  /** @returns an honest price, never a round number */
  price(): bigint {
    return BigInt(this.#deps.random.between(1_001, 9_999))
  }

  #call(path: string, body: object, more: Partial<PaidRequest> = {}): Promise<unknown> {
    const { recorder, ip } = this.#deps
    return recorder.call(this.keyId, { path, body, key: this.#apiKey, ip, ...more })
  }

  #credits(name?: string): PaidRequest {
    const { random, ip } = this.#deps
    const amount = { amount_microdollars: random.between(5_000_000, 6_000_000) }
    const body = name === undefined ? amount : { ...amount, purchase_id: name }
    return { path: PURCHASE, body, key: this.#apiKey, ip }
  }
}

type KeyedAction = BuyerAction<KeyedBuyer>

const buyFrom = (offer: string, behavior: Order['behavior']): KeyedAction => ({
  perform: (buyer) => buyer.external({ offer, behavior, amount: buyer.price() }),
})
const QUICK_SELLER_BEHAVIORS = SELLER_BEHAVIOR_NAMES.filter(
  (behavior) => !SLOW_SELLER_BEHAVIORS.includes(behavior),
)

/** Actions whose response takes half a minute. */
export const SLOW_ACTIONS: readonly KeyedAction[] = SLOW_SELLER_BEHAVIORS.map((behavior) =>
  buyFrom('version 2', behavior),
)

export const KEYED_ACTIONS: readonly KeyedAction[] = [
  ...QUICK_SELLER_BEHAVIORS.flatMap((behavior) => [
    buyFrom('version 2', behavior),
    buyFrom('version 1', behavior),
  ]),
  ...GOOD_OFFERS.map((offer) => buyFrom(offer, 'honest')),
  ...BAD_OFFERS.map((offer) => ({
    perform: (buyer: KeyedBuyer) =>
      buyer.external(
        { offer, behavior: 'honest', amount: buyer.price() },
        { headers: { 'x-max-price': '10000' } },
      ),
  })),
  ...CALLS.map(([path, body]) => ({
    name: path.replace('/proxy/', 'calls '),
    perform: (buyer: KeyedBuyer) => buyer.call(path, body),
  })),
  ...FACILITATOR_BEHAVIORS.map((behavior) => ({
    perform: (buyer: KeyedBuyer) => buyer.topUp(behavior),
  })),
  { name: 'tops up twice with one purchase id', perform: (buyer) => buyer.topUpTwice() },
  {
    name: 'calls three times with one Idempotency-Key',
    perform: (buyer) => buyer.callThreeTimes('/proxy/flawed/works', {}),
  },
  ...(['honest', 'settles and fails', 'fails, settles later'] as const).map((behavior) => ({
    name: `buys three times with one Idempotency-Key, ${behavior}`,
    perform: (buyer: KeyedBuyer) =>
      buyer.externalThreeTimes({ offer: 'version 2', behavior, amount: buyer.price() }),
  })),
]
