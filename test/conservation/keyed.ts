import { HubClient } from '../../core/client/index.ts'
import { ACTS, type Act } from './acts.ts'
import type { Market, Order } from './market.ts'
import { BAD_OFFERS, GOOD_OFFERS } from './offers.ts'
import { type Desk, PURCHASE, type Want } from './operators.ts'
import { buy, type Purse, sign } from './payers.ts'
import type { Random } from './random.ts'
import { SLOW_WAYS, WAY_NAMES } from './ways.ts'

/** Something that a buyer does, once each time that its card comes. */
export interface Deed<Buyer> {
  /** Undefined: it is counted elsewhere. */
  readonly name?: string
  readonly play: (buyer: Buyer) => Promise<unknown>
}

export interface KeyedPorts {
  readonly url: () => string
  readonly desk: Desk
  readonly market: Market
  readonly random: Random
  readonly purse: Purse
  readonly ip: string
}

const EXTERNAL = '/proxy/external'
/** Services of a provider that fails in every way; what they charge differs. */
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

/** Buys credits by x402, and spends them on services of the hub and on sellers outside. */
export class Keyed {
  readonly keyId: string
  readonly #apiKey: string
  readonly #ports: KeyedPorts
  #named = 0

  private constructor(ports: KeyedPorts, keyId: string, apiKey: string) {
    this.#ports = ports
    this.keyId = keyId
    this.#apiKey = apiKey
  }

  static async enter(ports: KeyedPorts): Promise<Keyed> {
    const wallet = { account: ports.purse.account, sandbox: true }
    const client = new HubClient({ baseUrl: ports.url(), wallet })
    const { keyId, apiKey } = await client.register()
    const buyer = new Keyed(ports, keyId, apiKey)
    await buyer.topUp('own')
    return buyer
  }

  /** What the hub says that the key has, and has on hold; in microdollars. */
  async standing(): Promise<{ readonly balance: bigint; readonly reserved: bigint }> {
    const client = new HubClient({ baseUrl: this.#ports.url(), apiKey: this.#apiKey })
    const { body } = await client.send('/v1/credits/balance')
    const [balance, reserved] = [body['balance_microdollars'], body['reserved_microdollars']]
    return { balance: BigInt(String(balance)), reserved: BigInt(String(reserved)) }
  }

  topUp(act: Act): Promise<unknown> {
    const { desk, random, purse } = this.#ports
    return buy(desk, random, purse, this.#credits(), act)
  }

  /** The same purchase, by its name, with two payments at once and one of them twice. */
  async topUpTwice(): Promise<void> {
    const { desk, random, purse } = this.#ports
    const want = this.#credits(`purchase-${++this.#named}`)
    const offered = await desk.ask(want)
    const one = await sign(random, purse, offered, 'own')
    const other = await sign(random, purse, offered, 'foreign')
    if (!one || !other) return
    await Promise.all([one, other, one].map((sent) => desk.pay(sent, want)))
  }

  external(order: Order, more: Partial<Want> = {}): Promise<unknown> {
    const { market, random } = this.#ports
    return this.#call(EXTERNAL, { url: market.urlOf(order, random) }, more)
  }

  call(path: string, body: object): Promise<unknown> {
    return this.#call(path, body)
  }

  /** The same request three times at once, under one Idempotency-Key. */
  async thrice(path: string, body: object): Promise<void> {
    const headers = { 'idempotency-key': `thrice-${this.keyId}-${++this.#named}` }
    const once = () => this.#call(path, body, { headers })
    await Promise.all([once(), once(), once()])
    await once()
  }

  externalThrice(order: Order): Promise<void> {
    const { market, random } = this.#ports
    return this.thrice(EXTERNAL, { url: market.urlOf(order, random) })
  }

  /** @returns an honest price, which is never a round one */
  price(): bigint {
    return BigInt(this.#ports.random.between(1_001, 9_999))
  }

  #call(path: string, body: object, more: Partial<Want> = {}): Promise<unknown> {
    const { desk, ip } = this.#ports
    return desk.call(this.keyId, { path, body, key: this.#apiKey, ip, ...more })
  }

  #credits(name?: string): Want {
    const { random, ip } = this.#ports
    const amount = { amount_microdollars: random.between(1_000_000, 2_000_000) }
    const body = name === undefined ? amount : { ...amount, purchase_id: name }
    return { path: PURCHASE, body, key: this.#apiKey, ip }
  }
}

type Card = Deed<Keyed>

const sells = (offer: string, way: Order['way']): Card => ({
  play: (buyer) => buyer.external({ offer, way, amount: buyer.price() }),
})
const quick = WAY_NAMES.filter((way) => !SLOW_WAYS.includes(way))

/** For which a caller waits half a minute. */
export const SLOW_DEEDS: readonly Card[] = SLOW_WAYS.map((way) => sells('version 2', way))

export const KEYED_DEEDS: readonly Card[] = [
  ...quick.flatMap((way) => [sells('version 2', way), sells('version 1', way)]),
  ...GOOD_OFFERS.map((offer) => sells(offer, 'honest')),
  ...BAD_OFFERS.map((offer) => ({
    play: (buyer: Keyed) =>
      buyer.external(
        { offer, way: 'honest', amount: buyer.price() },
        { headers: { 'x-max-price': '10000' } },
      ),
  })),
  ...CALLS.map(([path, body]) => ({
    name: path.replace('/proxy/', 'calls '),
    play: (buyer: Keyed) => buyer.call(path, body),
  })),
  ...ACTS.map((act) => ({ play: (buyer: Keyed) => buyer.topUp(act) })),
  { name: 'tops up twice under one name', play: (buyer) => buyer.topUpTwice() },
  { name: 'calls thrice under one key', play: (buyer) => buyer.thrice('/proxy/flawed/works', {}) },
  ...(['honest', 'settles and fails', 'fails, settles later'] as const).map((way) => ({
    name: `buys thrice under one key, ${way}`,
    play: (buyer: Keyed) =>
      buyer.externalThrice({ offer: 'version 2', way, amount: buyer.price() }),
  })),
]
