import * as fc from 'fast-check'
import type { Pool } from 'pg'
import { systemClock } from '../../../core/clock.ts'
import type { AccountRef, Ledger, ReserveOrder } from '../../../core/ledger/ledger.ts'
import { freeCallsOf } from '../../../core/ledger/postings.ts'
import { reverseCall } from '../../../core/ledger/reverse.ts'
import { micros, newId, openProvider, order } from './fixture.ts'

const SHARDS = [0, 1]

/** Seed of all random steps. */
export const seed = systemClock.now().getTime() % 2 ** 31

const SETTLES = ['settle', 'settle', 'settle'] as const

/** Random numbers for a step, which a run turns into a call or an entry. */
const step = fc.record({
  do: fc.oneof(
    { arbitrary: fc.constantFrom(...SETTLES, 'release', 'expire', 'free'), weight: 5 },
    { arbitrary: fc.constantFrom('hold', 'reverse', 'unsold', 'transfer'), weight: 2 },
    { arbitrary: fc.constant('purchase'), weight: 1 },
  ),
  who: fc.nat(5),
  amount: fc.bigInt({ min: 10_000n, max: 400_000n }),
  part: fc.bigInt({ min: 0n, max: 100n }),
  endpoint: fc.nat(3),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** Charges and refunds of a payer, according to the responses of the ledger. */
export type Sums = Record<
  'calls' | 'charged' | 'freeCalls' | 'failed' | 'released' | 'refunded',
  bigint
>

/** Agents on two shards that buy, call, fail and are refunded at random. */
export class Traffic {
  /** Sums by payer and endpoint. */
  readonly sums = new Map<string, Sums>()
  readonly credits: readonly AccountRef[]
  readonly #pool: Pool
  readonly #ledger: Ledger
  readonly #free: readonly AccountRef[]
  readonly #payee: AccountRef
  readonly #sellers: AccountRef
  readonly #used: AccountRef
  #runs = 0

  private constructor(
    pool: Pool,
    ledger: Ledger,
    credits: readonly AccountRef[],
    free: readonly AccountRef[],
    others: { payee: AccountRef; sellers: AccountRef; used: AccountRef },
  ) {
    this.#pool = pool
    this.#ledger = ledger
    this.credits = credits
    this.#free = free
    this.#payee = others.payee
    this.#sellers = others.sellers
    this.#used = others.used
  }

  /** @param ledger a ledger with two shards */
  static async open(pool: Pool, ledger: Ledger): Promise<Traffic> {
    const credits: AccountRef[] = []
    const free: AccountRef[] = []
    for (const i of [0, 1, 2, 3, 4, 5]) {
      const home = SHARDS[i % 2]!
      const code = `liabilities:agents:key_t${i}:credits`
      credits.push(await ledger.open(code, 'USDC', { home }))
      const units = freeCallsOf(`prn_t${i}`, 'svc', '2026-11')
      free.push(await ledger.open(units, 'FREECALL', { home }))
      const grant = { type: 'units.granted', account: units, asset: 'FREECALL' } as const
      await ledger.post({ ...grant, units: 10_000n }, { owner: free[i]!, id: newId() })
    }
    const payee = await openProvider(ledger, 'traffic')
    const sellers = await ledger.account('liabilities:x402-out:in-transit')
    const used = await ledger.account('equity:free-calls:used')
    return new Traffic(pool, ledger, credits, free, { payee, sellers, used })
  }

  /** Runs `count` random steps, 20 at a time. */
  async run(count: number): Promise<void> {
    const steps = fc.sample(step, { numRuns: count, seed: seed + this.#runs++ })
    for (let i = 0; i < steps.length; i += 20) {
      await Promise.all(steps.slice(i, i + 20).map((each) => this.#take(each)))
    }
  }

  async #take(step: Step): Promise<void> {
    const owner = this.credits[step.who]!
    const amount = micros(step.amount)
    const entry = { owner, id: newId() }
    if (step.do === 'purchase') {
      await this.#ledger.post({ type: 'credits.purchased', credits: owner.code, amount }, entry)
    } else if (step.do === 'transfer') {
      const to = this.credits[(step.who + 2) % 6]!.code // on the same shard
      await this.#ledger.post({ type: 'credits.transferred', from: owner.code, to, amount }, entry)
    } else if (step.do === 'free') {
      await this.#freeCall(step)
    } else {
      await this.#call(step, owner)
    }
  }

  async #freeCall({ who, endpoint, part }: Step): Promise<void> {
    const owner = this.#free[who]!
    const call = order(owner, this.#used, 1n, { commissionBps: 0, endpoint })
    await this.#ledger.reserve(call)
    if (part < 20n) {
      await this.#ledger.release(call)
      this.#add(owner, endpoint, { failed: 1n })
    } else {
      await this.#ledger.settle(call, 1n)
      this.#add(owner, endpoint, { freeCalls: 1n })
    }
  }

  async #call(step: Step, owner: AccountRef): Promise<void> {
    const { amount, endpoint } = step
    const payee = step.do === 'unsold' ? this.#sellers : this.#payee
    const ttlSeconds = step.do === 'expire' ? 0 : 3_600
    const call = order(owner, payee, amount, { endpoint, ttlSeconds, commissionBps: 0 })
    if ((await this.#ledger.reserve(call)).outcome !== 'applied' || step.do === 'hold') return
    if (step.do === 'release' || step.do === 'expire') {
      await this.#ledger[step.do](call)
      this.#add(owner, endpoint, { failed: 1n, released: amount })
      return
    }
    const charged = (amount * step.part) / 100n
    await this.#ledger.settle(call, charged)
    this.#add(owner, endpoint, { calls: 1n, charged })
    if (charged === 0n || step.do === 'settle') return
    await this.#refund(step, call, charged)
    this.#add(owner, endpoint, { refunded: charged })
  }

  async #refund(step: Step, call: ReserveOrder, charged: bigint): Promise<void> {
    const { owner } = call
    if (step.do === 'reverse') {
      await reverseCall(this.#pool, this.#ledger, call, { author: 'a', reason: 'r' })
    } else {
      const event = { type: 'external.refunded', credits: owner.code } as const
      const amount = micros(charged)
      await this.#ledger.post({ ...event, amount }, { owner, id: call.call })
    }
  }

  #add(owner: AccountRef, endpoint: number, what: Partial<Sums>): void {
    const key = `${owner.code.split(':')[2]} ${endpoint}`
    const none = { calls: 0n, charged: 0n, freeCalls: 0n, failed: 0n, released: 0n, refunded: 0n }
    const sums = this.sums.get(key) ?? none
    for (const [name, amount] of Object.entries(what)) sums[name as keyof Sums] += amount
    this.sums.set(key, sums)
  }
}
