import { request } from 'undici'
import { sleep } from '../../core/clock.ts'
import type { Facilitator } from '../../core/payments/facilitators/facilitator.ts'
import { type Payment, readPayment } from '../../core/payments/receiving/payment.ts'
import { cancelAuthorization } from '../stories/attacks/cancel-authorization.ts'
import { ACTS, type Act } from './acts.ts'
import type { Deed } from './keyed.ts'
import type { Desk, Sent, Want } from './operators.ts'
import { buy, type Purse, purseOf, sign } from './payers.ts'
import type { Random } from './random.ts'

export interface KeylessPorts {
  readonly url: () => string
  readonly rpcUrl: string
  readonly desk: Desk
  readonly random: Random
  /** Wallets to pay with, one after the other: who fails to pay is not trusted any more. */
  readonly purses: readonly Purse[]
  /** Wallets with the price of one call, each for one time. */
  readonly tight: Purse[]
  readonly ip: (n: number) => string
  /** Brings payments onto the chain for whoever wants. */
  readonly stranger: Facilitator
}

/** So often a wallet is used. */
const USES = 5
const WORKS = [
  ['/proxy/echo/say', { words: 'hi' }],
  ['/proxy/flawed/works', {}],
  ['/proxy/flawed/who', {}],
  ['/proxy/flawed/computed', { cost: 357 }],
] as const
const FAILURES = ['throws', 'refuses', 'hangs', 'status-500', 'lies', 'greedy'] as const

/** Has no key, and pays each request by x402. */
export class Keyless {
  readonly #ports: KeylessPorts
  #uses = 0

  constructor(ports: KeylessPorts) {
    this.#ports = ports
  }

  async pay(act: Act): Promise<Sent | undefined> {
    const { desk, random } = this.#ports
    return buy(desk, random, this.#purse(), this.#want(), act)
  }

  /** Pays, and sends the same once more: alone, then twice at once. */
  async again(): Promise<void> {
    const sent = await this.pay('own')
    await this.#send(sent, 1)
    await this.#send(sent, 2)
  }

  /** The same payment many times at once. */
  async burst(act: Act): Promise<void> {
    const { sent, want } = await this.#signed(act)
    await this.#send(sent, this.#ports.random.between(3, 6), want)
  }

  /** One payment for several things at once. */
  async spread(): Promise<void> {
    const { desk } = this.#ports
    const { sent, want } = await this.#signed('own')
    const others = WORKS.map(([path, body]) => ({ ...want, path, body }))
    if (sent) await Promise.all([want, ...others].map((each) => desk.pay(sent, each)))
  }

  /** What has paid for one thing, for another; and from somewhere else. */
  async elsewhere(): Promise<void> {
    const { desk, ip } = this.#ports
    const sent = await this.pay('own')
    const [want] = sent?.wants ?? []
    if (!sent || !want) return
    const [path, body] = WORKS.find(([path]) => path !== want.path)!
    await desk.pay(sent, { ...want, path, body })
    await desk.pay(sent, { ...want, ip: ip(200 + (this.#uses % 50)) })
  }

  /** Takes the authorization back while the hub is at it. */
  async cancels(): Promise<void> {
    const { desk, random, rpcUrl } = this.#ports
    const purse = this.#purse()
    const { sent, want } = await this.#signed('own', purse)
    if (!sent) return
    const wait = random.between(0, 150)
    const taken = sleep(wait)
      .then(() => cancelAuthorization(rpcUrl, purse.account, sent.nonce))
      .catch(() => undefined) // the node may not answer
    await Promise.all([desk.pay(sent, want), taken])
    await desk.pay(sent, want)
  }

  /** Somebody else brings the payment onto the chain while the hub is at it. */
  async overtaken(): Promise<void> {
    const { desk, random, stranger } = this.#ports
    const { sent, want } = await this.#signed('own')
    if (!sent) return
    const payment: Payment = readPayment(sent.payment)
    const wait = random.between(5, 150)
    const settled = sleep(wait)
      .then(() => stranger.settle(payment, payment.accepted))
      .catch(() => undefined)
    await Promise.all([desk.pay(sent, want), settled])
    await desk.pay(sent, want)
  }

  /** Goes away before the answer. */
  async leaves(): Promise<void> {
    const { url, random, desk } = this.#ports
    const { sent, want } = await this.#signed('own')
    if (!sent) return
    desk.sent.push(sent)
    sent.wants.push(want)
    await request(new URL(want.path, url()), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'payment-signature': sent.payment,
        'x-forwarded-for': want.ip,
      },
      body: JSON.stringify(want.body),
      signal: AbortSignal.timeout(random.between(5, 60)),
    }).then(
      ({ body }) => body.dump(),
      () => undefined,
    )
  }

  /** A payment that is no good: too little, too late, of somebody else. */
  async spoilt(): Promise<void> {
    const { desk, random } = this.#ports
    const purse = this.#purse()
    const want = this.#want()
    const offered = await desk.ask(want)
    const spoilings = [
      { signed: { value: 1n } },
      { signed: { value: 1n }, accepted: { amount: '1' } },
      { signed: { seconds: -1 } },
      { signed: { validAfter: 1n << 40n } },
      { domain: { name: 'USDC' } },
      { sent: { value: '1' } },
    ]
    const sent = await sign(random, purse, offered, 'own', random.pick(spoilings))
    if (!sent) return
    await desk.pay(sent, want)
  }

  /** A signature that may be dead before the work is done. */
  async hasty(): Promise<void> {
    const { desk } = this.#ports
    const { sent, want } = await this.#signed('own', this.#purse(), 32)
    if (sent) await desk.pay(sent, want)
  }

  /** Work that fails does not cost anything; the same payment may come again. */
  async fails(): Promise<void> {
    const { random } = this.#ports
    const want = { ...this.#want(), path: `/proxy/flawed/${random.pick(FAILURES)}`, body: {} }
    const { sent } = await this.#signed('own', this.#purse(), undefined, want)
    await this.#send(sent, 1, want)
    await this.#send(sent, 2, want)
  }

  /** Two payments at once of one who has the money for one, or for none. */
  async overdraws(purse = this.#ports.tight.pop()): Promise<void> {
    const { desk, random } = this.#ports
    if (!purse) return
    const want = { ...this.#want(), path: '/proxy/flawed/works', body: {} }
    const offered = await desk.ask(want)
    const payments = await Promise.all(
      (['own', 'foreign'] as const).map((act) => sign(random, purse, offered, act)),
    )
    const sent = payments.filter((payment) => payment !== undefined)
    await Promise.all(sent.map((payment) => desk.pay(payment, want)))
  }

  lacksMoney(): Promise<void> {
    return this.overdraws(purseOf(this.#ports.random, 0n))
  }

  #purse(): Purse {
    const { purses } = this.#ports
    return purses[Math.floor(this.#uses++ / USES) % purses.length]!
  }

  #want(): Want {
    const { random, ip } = this.#ports
    const [path, body] = random.pick(WORKS)
    return { path, body, ip: ip(Math.floor(this.#uses / USES) % 100) }
  }

  async #signed(
    act: Act,
    purse = this.#purse(),
    seconds?: number,
    want = this.#want(),
  ): Promise<{ readonly sent: Sent | undefined; readonly want: Want }> {
    const { desk, random } = this.#ports
    const spoilt = seconds === undefined ? {} : { signed: { seconds } }
    const sent = await sign(random, purse, await desk.ask(want), act, spoilt)
    return { sent, want }
  }

  async #send(sent: Sent | undefined, times: number, want = sent?.wants[0]): Promise<void> {
    if (!sent || !want) return
    const { desk } = this.#ports
    await Promise.all(Array.from({ length: times }, () => desk.pay(sent, want)))
  }
}

export const KEYLESS_DEEDS: readonly Deed<Keyless>[] = [
  ...ACTS.map((act) => ({ play: (buyer: Keyless) => buyer.pay(act) })),
  { name: 'pays again', play: (buyer) => buyer.again() },
  ...(['own', 'foreign', 'own lost', 'own unsent'] as const).map((act) => ({
    name: `pays many times at once, ${act}`,
    play: (buyer: Keyless) => buyer.burst(act),
  })),
  { name: 'pays several things', play: (buyer) => buyer.spread() },
  { name: 'pays elsewhere', play: (buyer) => buyer.elsewhere() },
  { name: 'takes a payment back', play: (buyer) => buyer.cancels() },
  { name: 'is overtaken', play: (buyer) => buyer.overtaken() },
  { name: 'leaves', play: (buyer) => buyer.leaves() },
  { name: 'pays badly', play: (buyer) => buyer.spoilt() },
  { name: 'pays late', play: (buyer) => buyer.hasty() },
  { name: 'pays failing work', play: (buyer) => buyer.fails() },
  { name: 'has money for one', play: (buyer) => buyer.overdraws() },
  { name: 'has no money', play: (buyer) => buyer.lacksMoney() },
]
