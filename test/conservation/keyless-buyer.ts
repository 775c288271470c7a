import { request as sendRequest } from 'undici'
import { sleep } from '../../core/clock.ts'
import type { Facilitator } from '../../core/payments/facilitators/facilitator.ts'
import { type Payment, readPayment } from '../../core/payments/receiving/payment.ts'
import { cancelAuthorization } from '../stories/attacks/cancel-authorization.ts'
import { type BuyerWallet, buy, createBuyerWallet, sign } from './buyer-payments.ts'
import { FACILITATOR_BEHAVIORS, type FacilitatorBehavior } from './facilitator-behaviors.ts'
import type { BuyerAction } from './keyed-buyer.ts'
import type { Random } from './random.ts'
import type { PaidRequest, RequestRecorder, SentPayment } from './request-recorder.ts'

export interface KeylessBuyerDeps {
  readonly url: () => string
  readonly rpcUrl: string
  readonly recorder: RequestRecorder
  readonly random: Random
  /** Wallets used in turn: a wallet that fails to pay loses the hub's trust. */
  readonly buyerWallets: readonly BuyerWallet[]
  /** Wallets that hold the price of one call; each is used once. */
  readonly singleCallWallets: BuyerWallet[]
  readonly ip: (n: number) => string
  /** Facilitator that settles without the hub. */
  readonly facilitator: Facilitator
}

/** Payments per wallet before the next one is used. */
const PAYMENTS_PER_WALLET = 5
const REQUESTS = [
  ['/proxy/echo/say', { words: 'hi' }],
  ['/proxy/flawed/works', {}],
  ['/proxy/flawed/who', {}],
  ['/proxy/flawed/computed', { cost: 357 }],
] as const
const FAILURES = ['throws', 'refuses', 'hangs', 'status-500', 'lies', 'greedy'] as const

/** Buyer without an API key: pays for each request with x402. */
export class KeylessBuyer {
  readonly #deps: KeylessBuyerDeps
  #uses = 0

  constructor(deps: KeylessBuyerDeps) {
    this.#deps = deps
  }

  async pay(behavior: FacilitatorBehavior): Promise<SentPayment | undefined> {
    const { recorder, random } = this.#deps
    return buy(recorder, random, this.#buyerWallet(), this.#request(), behavior)
  }

  /** Pays, then resends the same payment once and then twice concurrently. */
  async payAndResend(): Promise<void> {
    const sent = await this.pay('own')
    await this.#send(sent, 1)
    await this.#send(sent, 2)
  }

  /** Sends one payment several times concurrently. */
  async payConcurrently(behavior: FacilitatorBehavior): Promise<void> {
    const { sent, request } = await this.#signPayment(behavior)
    await this.#send(sent, this.#deps.random.between(3, 6), request)
  }

  /** Sends one payment with several different requests concurrently. */
  async payForSeveral(): Promise<void> {
    const { recorder } = this.#deps
    const { sent, request } = await this.#signPayment('own')
    const others = REQUESTS.map(([path, body]) => ({ ...request, path, body }))
    if (sent) await Promise.all([request, ...others].map((each) => recorder.pay(sent, each)))
  }

  /** Reuses a payment for another request, and from another IP address. */
  async payForAnother(): Promise<void> {
    const { recorder, ip } = this.#deps
    const sent = await this.pay('own')
    const [request] = sent?.requests ?? []
    if (!sent || !request) return
    const [path, body] = REQUESTS.find(([path]) => path !== request.path)!
    await recorder.pay(sent, { ...request, path, body })
    await recorder.pay(sent, { ...request, ip: ip(200 + (this.#uses % 50)) })
  }

  /** Cancels the authorization on the chain while the hub processes the payment. */
  async payAndCancel(): Promise<void> {
    const { recorder, random, rpcUrl } = this.#deps
    const buyerWallet = this.#buyerWallet()
    const { sent, request } = await this.#signPayment('own', buyerWallet)
    if (!sent) return
    const delayMs = random.between(0, 150)
    const canceled = sleep(delayMs)
      .then(() => cancelAuthorization(rpcUrl, buyerWallet.account, sent.nonce))
      .catch(() => undefined) // the node may not respond
    await Promise.all([recorder.pay(sent, request), canceled])
    await recorder.pay(sent, request)
  }

  /** Lets another facilitator settle the payment while the hub processes it. */
  async payWhileSettledElsewhere(): Promise<void> {
    const { recorder, random, facilitator } = this.#deps
    const { sent, request } = await this.#signPayment('own')
    if (!sent) return
    const payment: Payment = readPayment(sent.payment)
    const delayMs = random.between(5, 150)
    const settled = sleep(delayMs)
      .then(() => facilitator.settle(payment, payment.accepted))
      .catch(() => undefined)
    await Promise.all([recorder.pay(sent, request), settled])
    await recorder.pay(sent, request)
  }

  /** Aborts the request before the response. */
  async payAndAbort(): Promise<void> {
    const { url, random, recorder } = this.#deps
    const { sent, request } = await this.#signPayment('own')
    if (!sent) return
    recorder.sent.push(sent)
    sent.requests.push(request)
    await sendRequest(new URL(request.path, url()), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'payment-signature': sent.payment,
        'x-forwarded-for': request.ip,
      },
      body: JSON.stringify(request.body),
      signal: AbortSignal.timeout(random.between(5, 60)),
    }).then(
      ({ body }) => body.dump(),
      () => undefined,
    )
  }

  /** Sends an invalid payment: wrong amount, time, domain or payload. */
  async payInvalid(): Promise<void> {
    const { recorder, random } = this.#deps
    const buyerWallet = this.#buyerWallet()
    const request = this.#request()
    const offered = await recorder.ask(request)
    const flaws = [
      { signed: { value: 1n } },
      { signed: { value: 1n }, accepted: { amount: '1' } },
      { signed: { seconds: -1 } },
      { signed: { validAfter: 1n << 40n } },
      { domain: { name: 'USDC' } },
      { sent: { value: '1' } },
    ]
    const sent = await sign(random, buyerWallet, offered, 'own', random.pick(flaws))
    if (!sent) return
    await recorder.pay(sent, request)
  }

  /** Sends a signature that may expire before the call ends. */
  async payExpiring(): Promise<void> {
    const { recorder } = this.#deps
    const { sent, request } = await this.#signPayment('own', this.#buyerWallet(), 32)
    if (sent) await recorder.pay(sent, request)
  }

  /** Calls a failing service, which must not charge, then sends the same payment again. */
  async payFailingService(): Promise<void> {
    const { random } = this.#deps
    const request = { ...this.#request(), path: `/proxy/flawed/${random.pick(FAILURES)}`, body: {} }
    const { sent } = await this.#signPayment('own', this.#buyerWallet(), undefined, request)
    await this.#send(sent, 1, request)
    await this.#send(sent, 2, request)
  }

  /** Sends two payments concurrently from a wallet that can afford one, or none. */
  async overdraw(buyerWallet = this.#deps.singleCallWallets.pop()): Promise<void> {
    const { recorder, random } = this.#deps
    if (!buyerWallet) return
    const request = { ...this.#request(), path: '/proxy/flawed/works', body: {} }
    const offered = await recorder.ask(request)
    const payments = await Promise.all(
      (['own', 'foreign'] as const).map((behavior) => sign(random, buyerWallet, offered, behavior)),
    )
    const sent = payments.filter((payment) => payment !== undefined)
    await Promise.all(sent.map((payment) => recorder.pay(payment, request)))
  }

  payWithoutMoney(): Promise<void> {
    return this.overdraw(createBuyerWallet(this.#deps.random, 0n))
  }

  #buyerWallet(): BuyerWallet {
    const { buyerWallets } = this.#deps
    return buyerWallets[Math.floor(this.#uses++ / PAYMENTS_PER_WALLET) % buyerWallets.length]!
  }

  #request(): PaidRequest {
    const { random, ip } = this.#deps
    const [path, body] = random.pick(REQUESTS)
    return { path, body, ip: ip(Math.floor(this.#uses / PAYMENTS_PER_WALLET) % 100) }
  }

  async #signPayment(
    behavior: FacilitatorBehavior,
    buyerWallet = this.#buyerWallet(),
    seconds?: number,
    request = this.#request(),
  ): Promise<{ readonly sent: SentPayment | undefined; readonly request: PaidRequest }> {
    const { recorder, random } = this.#deps
    const flaws = seconds === undefined ? {} : { signed: { seconds } }
    const sent = await sign(random, buyerWallet, await recorder.ask(request), behavior, flaws)
    return { sent, request }
  }

  async #send(
    sent: SentPayment | undefined,
    times: number,
    request = sent?.requests[0],
  ): Promise<void> {
    if (!sent || !request) return
    const { recorder } = this.#deps
    await Promise.all(Array.from({ length: times }, () => recorder.pay(sent, request)))
  }
}

export const KEYLESS_ACTIONS: readonly BuyerAction<KeylessBuyer>[] = [
  ...FACILITATOR_BEHAVIORS.map((behavior) => ({
    perform: (buyer: KeylessBuyer) => buyer.pay(behavior),
  })),
  { name: 'resends a payment', perform: (buyer) => buyer.payAndResend() },
  ...(['own', 'foreign', 'own lost', 'own unsent'] as const).map((behavior) => ({
    name: `resends a payment concurrently, ${behavior}`,
    perform: (buyer: KeylessBuyer) => buyer.payConcurrently(behavior),
  })),
  { name: 'pays for several requests at once', perform: (buyer) => buyer.payForSeveral() },
  { name: 'reuses a payment', perform: (buyer) => buyer.payForAnother() },
  { name: 'cancels a payment', perform: (buyer) => buyer.payAndCancel() },
  {
    name: 'payment settled by another facilitator',
    perform: (buyer) => buyer.payWhileSettledElsewhere(),
  },
  { name: 'aborts the request', perform: (buyer) => buyer.payAndAbort() },
  { name: 'pays with an invalid payment', perform: (buyer) => buyer.payInvalid() },
  { name: 'pays with an expiring signature', perform: (buyer) => buyer.payExpiring() },
  { name: 'pays for a failing service', perform: (buyer) => buyer.payFailingService() },
  { name: 'overdraws a wallet', perform: (buyer) => buyer.overdraw() },
  { name: 'pays from an empty wallet', perform: (buyer) => buyer.payWithoutMoney() },
]
