import { expect } from 'chai'
import * as fc from 'fast-check'
import { systemClock } from '../../../../core/clock.ts'
import type { AccountRef } from '../../../../core/ledger/ledger.ts'
import { advance, enroll } from '../../../../core/ledger/outbox/subscriber.ts'
import { reverseCall } from '../../../../core/ledger/reverse.ts'
import { micros, split } from '../../../../core/money.ts'
import { startPayouts } from '../../../../core/payments/payouts/start.ts'
import {
  type LineCursor,
  type PeriodSums,
  readPeriodSums,
  readServiceSums,
  readStatementLines,
  type StatementLine,
} from '../../../../core/payments/payouts/statement.ts'
import { earningsSubscriber } from '../../../../core/usage/earnings.ts'
import { PROPERTY_MS } from '../../../support/suite.ts'
import { newId, type PayoutFixture, startPayoutFixture } from './fixture.ts'

const amount = fc.bigInt({ min: 1n, max: 300_000n })
const place = fc.nat({ max: 3 }) // two services on two shards
const bps = fc.constantFrom(0, 1, 999, 1_000, 3_333)
const happening = fc.oneof(
  fc.record({ what: fc.constant('settled' as const), place, amount, bps, back: amount }),
  fc.record({ what: fc.constant('sold' as const), place, amount, bps }),
  fc.record({ what: fc.constant('free of commission' as const), place, amount }),
)
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never

describe('the statement of a payout', function () {
  this.timeout(PROPERTY_MS)
  let world: PayoutFixture
  before(async () => {
    world = await startPayoutFixture({ opening: 1_000_000_000n })
  })
  after(() => world.stop())

  let providers = 0
  const author = { author: 'ada', reason: 'a dispute' }

  /** Events that affect a provider's earnings, with an independent calculation. */
  async function happen(happenings: readonly Happening[]) {
    const provider = await world.provider(`p-random-${++providers}`, ['one', 'two'])
    const sums = { calls: 0n, gross: 0n, commission: 0n, refunds: 0n, commission_refunded: 0n }
    /** Commission lost to rounding, in ten-thousandths, by service. */
    const lost = [0n, 0n]
    const balances = [0n, 0n, 0n, 0n]
    const { ledger, pool } = world
    for (const one of happenings) {
      const payee = provider.accounts[one.place]!
      const add = (net: bigint, fraction = 0n): void => {
        balances[one.place]! += net
        lost[one.place >> 1]! += fraction
      }
      sums.calls++
      sums.gross += one.amount
      if (one.what === 'free of commission') {
        await world.earn(payee, one.amount)
        add(one.amount)
        continue
      }
      const { commission } = split(one.amount, one.bps)
      const rate = BigInt(one.bps)
      sums.commission += commission
      add(one.amount - commission, one.amount * rate - commission * 10_000n)
      if (one.what === 'sold') {
        const paid = micros(one.amount)
        const sale = { type: 'call.sold', payee: payee.code, paid, commission } as const
        await world.post(sale, payee, { bps: one.bps })
        continue
      }
      const hold = { call: newId(), owner: await world.agent(payee.shard, one.amount) }
      const terms = { amount: one.amount, payee, commissionBps: one.bps, ttlSeconds: 60 }
      await ledger.reserve({ ...hold, ...terms })
      await ledger.settle(hold, one.amount)
      const back = one.back < one.amount ? one.back : 0n
      if (back === 0n) continue
      expect(await reverseCall(pool, ledger, hold, author, micros(back))).to.equal('applied')
      const returned = (commission * back) / one.amount
      sums.refunds += back
      sums.commission_refunded += returned
      add(returned - back, returned * 10_000n - back * rate)
    }
    /** Deducted at the payout, which leaves something of every balance. */
    const rounding = lost.map((fraction, service) => {
      const due = fraction > 0n ? fraction / 10_000n : 0n
      const most = balances
        .slice(2 * service, 2 * service + 2)
        .reduce((sum, balance) => (balance > 1n ? sum + balance - 1n : sum), 0n)
      return due < most ? due : most
    })
    sums.commission += rounding[0]! + rounding[1]!
    return { provider, sums }
  }

  /** Lets the earnings subscriber read all entries. */
  async function catchUp(): Promise<void> {
    for (const shard of await enroll(world.pool, earningsSubscriber)) {
      while ((await advance(world.pool, earningsSubscriber, shard)) > 0n);
    }
  }

  /** Reads all lines in pages. */
  async function linesOf(payout: string, size: number): Promise<StatementLine[]> {
    const lines: StatementLine[] = []
    for (let after: LineCursor | undefined; ; ) {
      const page = await readStatementLines(world.pool, payout, size, after)
      lines.push(...page)
      const last = page.at(-1)
      if (page.length < size || !last) return lines
      after = [String(last.account), last.shard, String(last.seq)]
    }
  }

  /** Sums of the two days around now; those before and after must continue the balances. */
  async function periodOf(provider: string): Promise<readonly PeriodSums[]> {
    const now = systemClock.now().getTime()
    const [before, from, to] = [-48, -24, 24].map((hours) => new Date(now + hours * 3_600_000))
    expect(await readPeriodSums(world.pool, provider, { from: before!, to: from! })).to.have.length(
      0,
    )
    const sums = await readPeriodSums(world.pool, provider, { from: from!, to: to! })
    const after = { from: to!, to: new Date(now + 48 * 3_600_000) }
    const later = await readPeriodSums(world.pool, provider, after)
    const balances = later.map((each) => [each.service, each.shard, each.opening, each.closing])
    const left = sums.filter(({ closing }) => closing > 0n)
    expect(balances).to.deep.equal(
      left.map((each) => [each.service, each.shard, each.closing, each.closing]),
    )
    return sums
  }

  it('adds up to the transfer, by line and by service, after any events', async () => {
    const ports = { ...world.ports, minimum: micros(1n) }
    const property = async (happenings: readonly Happening[], size: number): Promise<void> => {
      const { provider, sums } = await happen(happenings)
      const net = sums.gross - sums.commission - sums.refunds + sums.commission_refunded
      const unpaid = await periodOf(provider.id)
      expect(unpaid.reduce((all, { closing }) => all + closing, 0n) >= net).to.equal(true)
      await catchUp()
      await startPayouts(ports)
      const { rows } = await world.pool.query<{ id: string; amount: bigint }>(
        'SELECT id, amount FROM hub.payout WHERE provider = $1',
        [provider.id],
      )
      expect(rows.map((row) => row.amount)).to.deep.equal(net > 0n ? [net] : [])
      if (!rows[0]) return
      const lines = await linesOf(rows[0].id, size)
      const total = (of: (line: StatementLine) => bigint) =>
        lines.reduce((sum, line) => sum + of(line), 0n)
      expect(total((line) => line.amount)).to.equal(net)
      const { calls, ...amounts } = sums
      for (const [name, expected] of Object.entries(amounts)) {
        expect(
          total((line) => line[name as keyof typeof amounts]),
          name,
        ).to.equal(expected)
      }
      expect(new Set(lines.map(({ shard, seq }) => `${shard} ${seq}`)).size).to.equal(lines.length)
      const services = await readServiceSums(world.pool, rows[0].id)
      const sum = (of: keyof typeof sums | 'earned') =>
        services.reduce((all, each) => all + each[of], 0n)
      expect(sum('calls')).to.equal(calls)
      for (const part of Object.keys(amounts) as (keyof typeof amounts)[]) {
        expect(sum(part), part).to.equal(sums[part])
      }
      expect(sum('earned')).to.equal(net)
      const period = await periodOf(provider.id)
      const inPeriod = (of: keyof typeof sums | 'paid' | 'opening' | 'closing') =>
        period.reduce((all, each) => all + each[of], 0n)
      for (const part of Object.keys(sums) as (keyof typeof sums)[]) {
        expect(inPeriod(part), `${part} of the month`).to.equal(sums[part])
      }
      expect([inPeriod('opening'), inPeriod('paid'), inPeriod('closing')]).to.deep.equal([
        0n,
        net,
        0n,
      ])
    }
    const many = fc.array(happening, { minLength: 1, maxLength: 8 })
    await fc.assert(fc.asyncProperty(many, fc.integer({ min: 1, max: 4 }), property), {
      numRuns: 12,
    })
  })

  it('takes commission on the sum of cheap calls, which each round it to nothing', async () => {
    const provider = await world.provider('p-cheap')
    const payee = provider.accounts[1]!
    const hold = (call: string, owner: AccountRef) => ({ call, owner })
    const owner = await world.agent(1, 90n)
    for (let i = 0; i < 10; i++) {
      const call = newId()
      const terms = { amount: 9n, payee, commissionBps: 1_000, ttlSeconds: 60 }
      await world.ledger.reserve({ ...hold(call, owner), ...terms })
      await world.ledger.settle(hold(call, owner), 9n)
    }
    await catchUp()
    await startPayouts({ ...world.ports, minimum: micros(1n) })
    const { rows } = await world.pool.query<{ id: string; amount: bigint }>(
      `SELECT id, amount FROM hub.payout WHERE provider = 'p-cheap'`,
    )
    expect(rows[0]?.amount).to.equal(81n)
    const [service] = await readServiceSums(world.pool, rows[0]!.id)
    expect(service).to.include({ gross: 90n, commission: 9n, other: 0n, earned: 81n })
    const lines = await linesOf(rows[0]!.id, 100)
    expect(lines.at(-1)).to.include({ event: 'commission.rounded', commission: 9n, amount: -9n })
    const claimed = `INSERT INTO hub.payout_part (payout, account, shard, amount, entry, after_seq,
        upto_seq, rounding, rounding_entry)
      SELECT payout, account, shard, amount, entry, upto_seq, upto_seq + 1, 1, rounding_entry
      FROM hub.payout_part WHERE payout = '${rows[0]!.id}'`
    const failure = await world.pool.query(claimed).catch((error: Error) => error.message)
    expect(failure, 'deducted twice').to.match(/commission of 1 is not due/)
  })

  it('computes the sums of a payout once', async () => {
    const provider = await world.provider('p-once')
    await world.earn(provider.accounts[0]!, 700n)
    await startPayouts({ ...world.ports, minimum: micros(1n) })
    const { rows } = await world.pool.query<{ id: string }>(
      `SELECT id FROM hub.payout WHERE provider = 'p-once'`,
    )
    const first = await readServiceSums(world.pool, rows[0]!.id)
    expect(first[0]).to.include({ calls: 1n, gross: 700n, earned: 700n })
    // A pool that cannot begin a transaction, so nothing is written.
    const reader = { query: world.pool.query.bind(world.pool) } as typeof world.pool
    expect(await readServiceSums(reader, rows[0]!.id)).to.deep.equal(first)
    await world.provider('p-unsummed').then(({ accounts }) => world.earn(accounts[0]!, 800n))
    await startPayouts({ ...world.ports, minimum: micros(1n) })
    const { rows: others } = await world.pool.query<{ id: string }>(
      `SELECT id FROM hub.payout WHERE provider = 'p-unsummed'`,
    )
    const failure = await readServiceSums(reader, others[0]!.id).catch((error: Error) => error)
    expect(failure, 'sums that are not stored yet').to.be.instanceOf(TypeError)
  })

  it('shows a refund of what was paid out as owed, and once more when it is deducted', async () => {
    const provider = await world.provider('p-owing')
    const [payee] = provider.accounts
    const hold = { call: newId(), owner: await world.agent(0, 1_000n) }
    const terms = { amount: 1_000n, payee: payee!, commissionBps: 1_000, ttlSeconds: 60 }
    const ports = { ...world.ports, minimum: micros(1n) }
    await world.ledger.reserve({ ...hold, ...terms })
    await world.ledger.settle(hold, 1_000n)
    await startPayouts(ports)
    expect(await reverseCall(world.pool, world.ledger, hold, author)).to.equal('applied')
    await world.admin.query(`ALTER TABLE hub.payout DISABLE TRIGGER keep;
      UPDATE hub.payout SET state = 'failed', ended_at = now() WHERE provider = 'p-owing';
      ALTER TABLE hub.payout ENABLE TRIGGER keep`)
    await world.earn(payee!, 5_000n)
    await startPayouts(ports)
    const { rows } = await world.pool.query<{ id: string; amount: bigint }>(
      `SELECT id, amount FROM hub.payout WHERE provider = 'p-owing' AND state = 'started'`,
    )
    expect(rows[0]?.amount).to.equal(4_100n)
    const refund = { refunds: 1_000n, commission_refunded: 100n, owed: 900n, refunded: 0n }
    const [service] = await readServiceSums(world.pool, rows[0]!.id)
    expect(service).to.include({ gross: 5_000n, ...refund, recovered: 900n, other: 0n })
    const lines = await linesOf(rows[0]!.id, 1)
    expect(lines.map(({ event, amount }) => [event, amount])).to.deep.equal([
      ['call.reversed', 0n],
      ['call.settled', 5_000n],
      ['receivable.recovered', -900n],
    ])
    expect(lines[0]).to.include(refund)
    const [period] = await periodOf('p-owing')
    expect(period).to.include({ ...refund, gross: 6_000n, recovered: 900n, closing: 0n })
    expect(period).to.include({ paid: 5_000n, opening: 0n })
  })
})
