import type { Pool } from 'pg'
import { monthName, monthStart } from '../../../core/clock.ts'
import { openShards } from '../../../core/identity/shards.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { takeSnapshots } from '../../../core/ledger/history/snapshot.ts'
import { type AccountRef, Ledger, type ReserveOrder } from '../../../core/ledger/ledger.ts'
import { SPEND } from '../../../core/ledger/postings.ts'
import { usd } from '../../../core/money.ts'
import { DEBTOR, eventSamples, fundAssets, PRICE } from '../ledger/event-samples.ts'

/** The database's clock, set by the test: functions of the ledger read this one instead. */
const CLOCK = `
  CREATE SCHEMA test_clock;
  GRANT USAGE ON SCHEMA test_clock TO PUBLIC;
  CREATE TABLE test_clock.instant (at timestamptz NOT NULL);
  GRANT SELECT ON test_clock.instant TO PUBLIC;
  INSERT INTO test_clock.instant VALUES (now());
  CREATE FUNCTION test_clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT at FROM test_clock.instant';
  DO $do$ DECLARE f record; BEGIN
    FOR f IN SELECT p.oid::regprocedure AS name FROM pg_proc p
        WHERE p.pronamespace = 'ledger'::regnamespace AND p.prosrc ~ 'clock_timestamp' LOOP
      EXECUTE format('ALTER FUNCTION %s SET search_path = test_clock, pg_catalog, ledger, pg_temp',
        f.name);
    END LOOP;
  END $do$`

export interface BusinessOptions {
  /** Pool of the database's owner. */
  readonly admin: Pool
  readonly pool: Pool
  readonly year: number
  readonly callsPerMonth: number
}

const STEPS_PER_MONTH = 4
const CONCURRENCY = 200
const AGENTS = 8
const SHARDS = 2
const DAY_MS = 86_400_000

/** A year of business: calls with all outcomes, and every single-step event, each month. */
export class BusinessYear {
  readonly #options: BusinessOptions
  readonly #ledger: Ledger
  readonly #agents: AccountRef[] = []
  readonly #payees: AccountRef[] = []
  #now = new Date(0)

  private constructor(options: BusinessOptions) {
    this.#options = options
    this.#ledger = new Ledger(options.pool)
  }

  /** Opens accounts on two shards, and funds the agents on the first day of the year. */
  static async open(options: BusinessOptions): Promise<BusinessYear> {
    const year = new BusinessYear(options)
    await options.admin.query(CLOCK)
    await openShards(options.pool, SHARDS)
    await year.setClock(new Date(Date.UTC(options.year, 0, 1, 1)))
    for (let i = 0; i < AGENTS; i++) {
      const credits = `liabilities:agents:business_${i}:credits`
      const owner = await year.#ledger.open(credits, 'USDC', { home: i % SHARDS })
      const event = { type: 'credits.purchased', credits, amount: usd('1000000') } as const
      await year.#post(event, owner)
      year.#agents.push(owner)
    }
    for (const code of [
      'liabilities:providers:north:weather',
      'liabilities:providers:South.x:maps',
      'income:services:echo',
    ]) {
      year.#payees.push(await year.#ledger.open(code, 'USDC'))
    }
    const spend = await year.#ledger.account(SPEND)
    await year.#post({ type: 'balance.opened', account: SPEND, amount: usd('10') }, spend)
    return year
  }

  /** Months of the year: names and bounds. */
  get months(): readonly { readonly name: string; readonly from: Date; readonly to: Date }[] {
    return Array.from({ length: 12 }, (_, i) => {
      const from = new Date(Date.UTC(this.#options.year, i, 1))
      return { name: monthName(from), from, to: monthStart(from, 1) }
    })
  }

  async setClock(at: Date): Promise<void> {
    this.#now = at
    await this.#options.admin.query('UPDATE test_clock.instant SET at = $1', [at])
  }

  /** Does the business of a month, in steps of about a week; ends after the month's last day. */
  async trade({ from, to }: { readonly from: Date; readonly to: Date }): Promise<void> {
    for (let step = 0; step < STEPS_PER_MONTH; step++) {
      const days = 1 + step * 7 + Math.random() * 6
      await this.setClock(new Date(from.getTime() + days * DAY_MS))
      await this.#calls(Math.ceil(this.#options.callsPerMonth / STEPS_PER_MONTH))
      if (step === 1) await this.#singleSteps()
    }
    await this.setClock(new Date(to.getTime() + DAY_MS / 2))
    const [owner] = this.#agents
    const event = { type: 'facilitator.charged', wallet: 'spend', amount: usd('0.070001') } as const
    const effectiveAt = new Date(to.getTime() - 1)
    await this.#post(event, owner!, { effectiveAt }) // found after the month's end
    await takeSnapshots(this.#options.pool)
  }

  async #post(
    event: Parameters<Ledger['post']>[0],
    owner: AccountRef,
    { id = uuidv7(this.#now.getTime()), effectiveAt }: { id?: string; effectiveAt?: Date } = {},
  ): Promise<void> {
    const meta = {
      author: 'a "quoted" \\ name',
      reason: 'line\nbreak; [2026-99], a: b, = + @',
      provider: DEBTOR,
      ...PRICE,
    }
    const entry = {
      owner,
      id,
      meta,
      ...(effectiveAt && { effectiveAt }),
    }
    const outcome = await this.#ledger.post(event, entry)
    if (outcome !== 'applied') throw new Error(`${event.type}: ${outcome}`)
  }

  async #calls(count: number): Promise<void> {
    let left = count
    const loop = async (): Promise<void> => {
      while (left-- > 0) await this.#call(left)
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, loop))
  }

  async #call(n: number): Promise<void> {
    const sellers = await this.#ledger.account('liabilities:x402-out:in-transit')
    const payee = [...this.#payees, sellers][n % 4]!
    const owner = this.#agents[(n >> 2) % AGENTS]!
    const order: ReserveOrder = {
      call: uuidv7(this.#now.getTime()),
      owner,
      payee,
      amount: BigInt(1_000 + ((n * 7_919) % 99_991)),
      commissionBps: payee === sellers ? 0 : 1_000,
      ttlSeconds: 0,
    }
    await this.#ledger.reserve(order)
    const end = n % 16
    if (end === 1) await this.#ledger.release(order)
    else if (end === 2) await this.#ledger.expire(order)
    else await this.#ledger.settle(order, end < 6 ? order.amount / 2n : order.amount)
    if (end !== 4) return
    const refunded = usd('0.0002')
    const commission = usd('0.00002')
    const reversal = {
      type: 'call.reversed',
      credits: owner.code,
      payee: payee.code,
      refunded,
      commission,
      receivable: usd('0'),
    } as const
    await this.#post(reversal, owner, { id: order.call })
  }

  /** Sells a call paid per request, and refunds half of it when its payment is final. */
  async #sale(): Promise<void> {
    const [owner] = this.#payees as [AccountRef]
    const id = uuidv7(this.#now.getTime())
    const payee = owner.code
    const sold = { type: 'call.sold', payee, paid: usd('0.02'), commission: usd('0.002') } as const
    await this.#post(sold, owner, { id })
    const transit = await this.#ledger.account('assets:usdc:base:in-transit')
    await this.#post({ type: 'receipt.confirmed', amount: sold.paid }, transit, { id })
    const parts = { refunded: usd('0.01'), commission: usd('0.001'), receivable: usd('0') }
    await this.#post({ type: 'sale.reversed', payee, to: 'suspense', ...parts }, owner, { id })
  }

  /** Sells credits, of which the chain loses the payment. */
  async #vanishingSale(): Promise<void> {
    const [owner] = this.#agents as [AccountRef]
    const id = uuidv7(this.#now.getTime())
    const credits = owner.code
    await this.#post({ type: 'credits.purchased', credits, amount: usd('0.09') }, owner, { id })
    const loss = { ...(await this.#ledger.account('expenses:x402-loss')), shard: owner.shard }
    const parts = { recovered: usd('0.04'), lost: usd('0.05') }
    await this.#post({ type: 'receipt.vanished', credits, ...parts }, loss, { id })
  }

  async #singleSteps(): Promise<void> {
    const [credits, , other] = this.#agents as [AccountRef, AccountRef, AccountRef]
    const free = await this.#ledger.open(
      `liabilities:free-calls:business:echo:${monthName(this.#now)}`,
      'FREECALL',
      { home: 0 },
    )
    const parties = {
      credits: credits.code,
      other: other.code,
      free: free.code,
      earnings: this.#payees[0]!.code,
    }
    await fundAssets(this.#ledger)
    for (const { event } of eventSamples(parties)) await this.#post(event, credits)
    await this.#sale()
    await this.#vanishingSale()
  }
}
