import { expect } from 'chai'
import * as fc from 'fast-check'
import { reverseCall } from '../../../../core/ledger/reverse.ts'
import { micros, split } from '../../../../core/money.ts'
import { startPayouts } from '../../../../core/payments/payouts/start.ts'
import {
  type LineCursor,
  readServiceSums,
  readStatementLines,
  type StatementLine,
} from '../../../../core/payments/payouts/statement.ts'
import { newId, type PayoutFixture, startPayoutFixture } from './fixture.ts'

const amount = fc.bigInt({ min: 1n, max: 300_000n })
const place = fc.nat({ max: 3 }) // two services on two shards
const bps = fc.constantFrom(0, 1, 999, 1_000, 3_333)
const happening = fc.oneof(
  fc.record({ what: fc.constant('settled' as const), place, amount, bps, back: amount }),
  fc.record({ what: fc.constant('sold' as const), place, amount, bps }),
  fc.record({ what: fc.constant('sponsored' as const), place, amount }),
)
type Happening = typeof happening extends fc.Arbitrary<infer T> ? T : never

describe('the statement of a payout', function () {
  this.timeout(60_000)
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
    const sums = { calls: 0n, gross: 0n, commission: 0n, refunded: 0n }
    const { ledger, pool } = world
    for (const one of happenings) {
      const payee = provider.accounts[one.place]!
      sums.calls++
      sums.gross += one.amount
      if (one.what === 'sponsored') {
        await world.earn(payee, one.amount)
        continue
      }
      const { commission } = split(one.amount, one.bps)
      sums.commission += commission
      if (one.what === 'sold') {
        const paid = micros(one.amount)
        await world.post({ type: 'call.sold', payee: payee.code, paid, commission }, payee)
        continue
      }
      const hold = { call: newId(), owner: await world.agent(payee.shard, one.amount) }
      const terms = { amount: one.amount, payee, commissionBps: one.bps, ttlSeconds: 60 }
      await ledger.reserve({ ...hold, ...terms })
      await ledger.settle(hold, one.amount)
      const back = one.back < one.amount ? one.back : 0n
      if (back === 0n) continue
      expect(await reverseCall(pool, ledger, hold, author, micros(back))).to.equal('applied')
      sums.refunded += back - (commission * back) / one.amount
    }
    return { provider, sums }
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

  it('adds up to the transfer, by line and by service, after any events', async () => {
    const ports = { ...world.ports, minimum: micros(1n) }
    const property = async (happenings: readonly Happening[], size: number): Promise<void> => {
      const { provider, sums } = await happen(happenings)
      await startPayouts(ports)
      const { rows } = await world.pool.query<{ id: string; amount: bigint }>(
        'SELECT id, amount FROM hub.payout WHERE provider = $1',
        [provider.id],
      )
      const net = sums.gross - sums.commission - sums.refunded
      expect(rows.map((row) => row.amount)).to.deep.equal(net > 0n ? [net] : [])
      if (!rows[0]) return
      const lines = await linesOf(rows[0].id, size)
      const total = (of: (line: StatementLine) => bigint) =>
        lines.reduce((sum, line) => sum + of(line), 0n)
      expect(total((line) => line.amount)).to.equal(net)
      expect(total((line) => line.gross)).to.equal(sums.gross)
      expect(total((line) => line.commission)).to.equal(sums.commission)
      expect(total((line) => line.refunded)).to.equal(sums.refunded)
      expect(new Set(lines.map(({ shard, seq }) => `${shard} ${seq}`)).size).to.equal(lines.length)
      const services = await readServiceSums(world.pool, rows[0].id)
      const sum = (of: 'calls' | 'gross' | 'commission' | 'refunded' | 'earned') =>
        services.reduce((all, each) => all + each[of], 0n)
      for (const part of ['calls', 'gross', 'commission', 'refunded'] as const) {
        expect(sum(part), part).to.equal(sums[part])
      }
      expect(sum('earned')).to.equal(net)
    }
    const many = fc.array(happening, { minLength: 1, maxLength: 8 })
    await fc.assert(fc.asyncProperty(many, fc.integer({ min: 1, max: 4 }), property), {
      numRuns: 12,
    })
  })
})
