import { randomUUID } from 'node:crypto'
import { defineService, s, usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { sleep } from '../../core/clock.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, payFor } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestAgent } from '../support/hub.ts'
import { type LossTime, loseQuery } from '../support/lost-queries.ts'
import { claimsOf } from '../support/receipt-claims.ts'
import { useHub } from '../support/suite.ts'

const PRICE = usd('0.01')
const BOUGHT = usd('5')
const handle = async () => ({ done: true })
const endpoint = { summary: 'Works.', input: s.object({}), price: PRICE, handle }
const works = defineService({
  slug: 'works',
  name: 'Works',
  category: 'test',
  summary: 'Works for a price.',
  provider: 'example',
  endpoints: { 'POST /paid': endpoint, 'POST /prepaid': { ...endpoint, prepaid: true } },
})

/** Advice that leads to a second payment, unless nothing was paid. */
const PAY_AGAIN = /nothing was|not charged|sign a new payment|buy credits/i
const SAME_REQUEST = /same (request|payment|Idempotency-Key)|\/v1\/credits\/history/
const POLL_MS = 100

interface Order {
  readonly path: string
  readonly body?: object
  /** True if it is paid by x402. */
  readonly isPayment?: boolean
  readonly isAnonymous?: boolean
  readonly isNamed?: boolean
  /** True if an external seller is paid. */
  readonly isExternal?: boolean
  /** Amount that each request moves. */
  readonly amount: bigint
}

const ORDERS: Readonly<Record<string, Order>> = {
  'a call by x402': {
    path: '/proxy/works/paid',
    isPayment: true,
    isAnonymous: true,
    amount: PRICE,
  },
  'a call by x402, settled before the work': {
    path: '/proxy/works/prepaid',
    isPayment: true,
    isAnonymous: true,
    amount: PRICE,
  },
  'a purchase of credits': {
    path: '/v1/credits/purchase',
    body: { amount_microdollars: Number(BOUGHT) },
    isPayment: true,
    amount: BOUGHT,
  },
  'a call from credits with an Idempotency-Key': {
    path: '/proxy/works/paid',
    isNamed: true,
    amount: PRICE,
  },
  'a call from credits': { path: '/proxy/works/paid', amount: PRICE },
  'a purchase from a seller': {
    path: '/proxy/external',
    isNamed: true,
    isExternal: true,
    amount: PRICE,
  },
}

/** Time of a restart of the database. */
const OUTAGE_MS = 150

/** Address of a network of its own, so that requests are not rate-limited together. */
const addressOf = (n: number): string => `10.${n >> 8}.${n & 255}.1`

describe('a database connection that is lost at any statement of', () => {
  const hub = useHub({ plugins: [works], config: { proxies: 1 } })
  let ada: TestAgent
  let eve: PrivateKeyAccount
  let addresses = 0
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('10'))
    eve = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('2500') })
  })

  /** Total that was charged so far, by the ledger or on the chain. */
  const moved = async ({ isPayment }: Order): Promise<bigint> => {
    if (isPayment) return usd('2500') - (await hub().hub.paymentDeps.chain.balanceOf(eve.address))
    const { rows } = await hub().hub.pool.query<{ sum: bigint }>(
      `SELECT coalesce(sum(amount), 0)::bigint AS sum FROM ledger.journal WHERE kind = 2`,
    )
    return rows[0]!.sum
  }
  /** Total that the hub has paid to sellers on the chain. */
  const sales = async (): Promise<bigint> => {
    const { chain } = hub().hub.paymentDeps
    return -(await chain.balanceOf(hub().sandbox!.wallets.spend.account.address))
  }
  /** Returns a function that sends the same request each time. */
  const prepare = async (order: Order): Promise<() => Promise<ApiResponse>> => {
    const { path, isAnonymous, isNamed, isExternal } = order
    const body = isExternal
      ? { url: `${hub().sandbox!.sellerUrl}/weather?city=Oslo` }
      : (order.body ?? {})
    const key = isAnonymous ? undefined : ada.apiKey
    const ip = { 'x-forwarded-for': addressOf(++addresses) }
    const send = (more = {}) => {
      const headers = { ...ip, ...more }
      return ask(hub().url, path, { method: 'POST', key, body, headers })
    }
    if (isNamed) {
      const headers = { 'idempotency-key': randomUUID() }
      return () => send(headers)
    }
    if (!order.isPayment) return () => send()
    const headers = { 'payment-signature': await payFor(eve, hub().url, await send()) }
    return () => send(headers)
  }
  const isServed = ({ status }: ApiResponse): boolean => status === 200 || status === 201
  /** The seller has the money, and its response is gone: transaction and receipt say so. */
  const isTaken = ({ headers, body }: ApiResponse): boolean => {
    const payment = body['payment'] as Readonly<Record<string, unknown>> | undefined
    return (
      payment?.['state'] === 'taken' &&
      String(payment['transaction']).startsWith('0x') &&
      body['code'] !== 'answer_expired' &&
      body['charged_microdollars'] === Number(PRICE) &&
      headers['x-charged-microdollars'] === String(PRICE) &&
      claimsOf(headers['x-receipt'])['charged_microdollars'] === Number(PRICE)
    )
  }
  const isPending = ({ status, body }: ApiResponse): boolean =>
    status === 202 && body['state'] === 'pending'

  /** Checks what a failed request says against what it moved. */
  function assertHonest(
    { headers, body, text }: ApiResponse,
    wasCharged: boolean,
    at: string,
  ): void {
    expect(headers['content-type'], `${at} ${text}`).to.equal('application/problem+json')
    const advice = String(body['advice'])
    if (wasCharged) expect(advice, `${at} ${text}`).to.not.match(PAY_AGAIN)
    const isNewRequestSafe = body['retryable'] === true && !SAME_REQUEST.test(advice)
    expect(isNewRequestSafe && wasCharged, `${at} ${text}`).to.equal(false)
  }

  async function assertRepeatable(order: Order, send: () => Promise<ApiResponse>, at: string) {
    let last: ApiResponse | undefined
    await eventually(async () => {
      if (order.isPayment || order.isExternal) await resolvePayments(hub().hub.paymentDeps, 0)
      last = await send()
      if (isServed(last) || (order.isExternal && isTaken(last))) return true
      expect(last.status, `${at} ${last.text}`).to.be.oneOf([202, 409, 503])
      await sleep(POLL_MS)
      return false
    }, 60_000).catch((cause: Error) => {
      throw new Error(`${at}: ${last?.text}`, { cause })
    })
  }

  /** Sends a request once for each statement whose connection is lost. */
  async function loseEach(order: Order, outageMs: number) {
    const sent: { at: string; send: () => Promise<ApiResponse> }[] = []
    for (const time of ['before', 'after'] as const satisfies readonly LossTime[]) {
      for (let n = 1, isReached = true; isReached; n++) {
        const send = await prepare(order)
        const before = await moved(order)
        const { result, count } = await loseQuery({ n, time, outageMs }, send)
        const at = `statement ${n} (${time}, ${outageMs} ms):`
        isReached = count >= n
        if (!isServed(result) && !isPending(result))
          assertHonest(result, (await moved(order)) > before, at)
        sent.push({ at, send })
        // The authorization of a seller is short: it is not left until the end.
        if (order.isExternal) await assertRepeatable(order, send, at)
      }
    }
    expect(sent.length).to.be.greaterThan(4)
    return sent
  }

  for (const [name, order] of Object.entries(ORDERS)) {
    it(`${name} misleads nobody, and the same request is paid once`, async () => {
      const start = await moved(order)
      const sold = await sales()
      const sent = await loseEach(order, order.isExternal ? OUTAGE_MS : 0)
      if (!order.isPayment && !order.isNamed) return
      for (const { at, send } of sent) await assertRepeatable(order, send, at)
      const total = BigInt(sent.length) * order.amount
      expect((await moved(order)) - start).to.equal(total)
      if (order.isExternal) expect((await sales()) - sold).to.equal(total)
    })
  }
})
