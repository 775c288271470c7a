import { expect } from 'chai'
import * as fc from 'fast-check'
import { monthName, monthStart, sleep, systemClock } from '../../../../core/clock.ts'
import { balancesAt } from '../../../../core/ledger/history/balance.ts'
import { closedPeriods, closePeriod, NotClosable } from '../../../../core/ledger/history/period.ts'
import { statement } from '../../../../core/ledger/history/statement.ts'
import type { AccountRef, Ledger } from '../../../../core/ledger/ledger.ts'
import { verifyLedger } from '../../../../core/ledger/verify.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { micros, newId, sampleLedger } from '../fixture.ts'
import { broken, tamper } from '../verify/tampering.ts'

describe('closing a month', () => {
  const now = systemClock.now()
  /** First instants of this month and of the previous ones. */
  const start = (back: number): Date => monthStart(now, -back)
  const name = (back: number): string => monthName(start(back))
  const end = start(0)
  let database: FreshDatabase
  let ledger: Ledger
  let owner: AccountRef

  beforeEach(async () => {
    database = await freshDatabase()
    const small = await sampleLedger(database.pool)
    ledger = small.ledger
    owner = small.owner
  })
  afterEach(() => database.drop())

  const failure = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 'done',
      (error: unknown) => error,
    )

  const buy = (effectiveAt: Date, amount = 1_000n) => {
    const event = { type: 'credits.purchased', credits: owner.code } as const
    const entry = { owner, id: newId(), effectiveAt }
    return ledger.post({ ...event, amount: micros(amount) }, entry).then(() => entry.id)
  }
  const close = (back: number) => closePeriod(database.pool, name(back), 'finance@platform')

  /** Value date of an entry, and the original date in its metadata. */
  async function dateOf(id: string): Promise<{ at: Date; meant: string | null }> {
    const { rows } = await database.pool.query(
      `SELECT coalesce(effective_at, at) AS at, meta ->> 'value_date' AS meant
       FROM ledger.journal WHERE id = $1`,
      [id],
    )
    return rows[0]
  }

  it('is refused for an unfinished or malformed month, or without an author', async () => {
    for (const back of [0, -1, -13]) {
      const error = await failure(close(back))
      expect(error).to.be.instanceOf(NotClosable)
      expect(String(error)).to.include(`the month ${name(back)} is not over yet`)
    }
    for (const month of ['2026-13', '2026-1', 'October', '2026-10-01', '']) {
      expect(await failure(closePeriod(database.pool, month, 'x')), month).to.be.instanceOf(
        NotClosable,
      )
    }
    expect(await failure(closePeriod(database.pool, name(1), ' '))).to.be.instanceOf(NotClosable)
    expect(await closedPeriods(database.pool)).to.deep.equal([])
  })

  it('closes months in order, without gaps, and once', async () => {
    expect(await close(4)).to.deep.equal([name(4)])
    expect(await close(2)).to.deep.equal([name(3), name(2)])
    for (const back of [2, 3, 4, 5]) expect(await close(back)).to.deep.equal([])
    const both = await Promise.all([close(1), close(1), close(1)])
    expect(both.flat()).to.deep.equal([name(1)])
    const closed = await closedPeriods(database.pool)
    expect(closed.map(({ month }) => month)).to.deep.equal([4, 3, 2, 1].map(name))
    for (const { author, closedAt } of closed) {
      expect(author).to.equal('finance@platform')
      expect(closedAt.getTime()).to.be.at.least(now.getTime())
    }
  })

  it('makes the database refuse a value date in or before the month', async () => {
    await close(1)
    const { id: transit } = await ledger.account('assets:usdc:base:in-transit')
    const post = (effectiveAt: Date) =>
      failure(
        database.pool.query(
          `SELECT ledger.post($1, $2, $3, 'credits.purchased', $4, '{-5,5}', $5)`,
          [owner.shard, owner.id, newId(), [transit, owner.id], effectiveAt],
        ),
      )
    for (const instant of [end.getTime() - 1, start(1), start(30)]) {
      expect(await post(new Date(instant))).to.have.property('code', 'AH001')
    }
    expect(await post(end)).to.equal('done')
  })

  it('is an entry of the journal, which verification misses if it is deleted', async () => {
    await buy(new Date(start(1).getTime() + 1))
    await close(1)
    const { rows } = await database.pool.query(
      `SELECT event, meta ->> 'author' AS author, meta ->> 'month' AS month, accounts, seq
       FROM ledger.journal j JOIN ledger.kind k ON k.id = j.kind ORDER BY seq DESC LIMIT 1`,
    )
    const entry = { event: 'period.closed', author: 'finance@platform', month: name(1) }
    expect(rows[0]).to.include(entry)
    await buy(end)
    expect(broken(await verifyLedger(database.pool))).to.deep.equal({})
    const removal = await failure(database.admin.query('DELETE FROM ledger.period'))
    expect(String(removal)).to.match(/append-only/)

    await tamper(database, `UPDATE ledger.head SET open_since = '-infinity'`)
    await buy(new Date(start(1).getTime() + 2))
    const found = broken(await verifyLedger(database.pool))
    expect(Object.keys(found)).to.deep.equal([
      'no entry is dated in a month that was closed before',
      'the closed months are those of the journal',
    ])
    await tamper(database, `DELETE FROM ledger.journal WHERE owner = 60`)
    expect(broken(await verifyLedger(database.pool))).to.have.property(
      'the sequence has no gaps and ends at the head',
    )
  })

  it('dates a late entry in the open month and stores its value date', async () => {
    const before = await buy(new Date(end.getTime() - 1))
    await close(1)
    const [late, inTime] = [await buy(new Date(end.getTime() - 1)), await buy(end)]
    expect(await dateOf(before)).to.deep.equal({ at: new Date(end.getTime() - 1), meant: null })
    expect(await dateOf(inTime)).to.deep.equal({ at: end, meant: null })
    const { at, meant } = await dateOf(late)
    expect(at.getTime()).to.be.at.least(now.getTime())
    expect(meant).to.equal(new Date(end.getTime() - 1).toISOString())
  })

  it('ledger nothing in it any more, even by a clock that is set back', async () => {
    await database.admin.query(`SELECT ledger.open_shard(1::smallint)`) // a shard without entries
    await close(1)
    const { rows } = await database.pool.query('SELECT at >= $1 AS open FROM ledger.head', [end])
    expect(rows).to.deep.equal([{ open: true }, { open: true }])
  })

  it('waits for a pending entry and includes it', async () => {
    const { id: transit } = await ledger.account('assets:usdc:base:in-transit')
    const client = await database.admin.connect()
    let done = false
    try {
      await client.query('BEGIN')
      await client.query(`SELECT ledger.post($1, $2, $3, 'credits.purchased', $4, '{-5,5}', $5)`, [
        owner.shard,
        owner.id,
        newId(),
        [transit, owner.id],
        start(1),
      ])
      const closing = close(1).finally(() => {
        done = true
      })
      await untilOneWaits()
      expect(done).to.equal(false)
      await client.query('COMMIT')
      expect(await closing).to.deep.equal([name(1)])
    } finally {
      client.release()
    }
    const [row] = await balancesAt(database.pool, end, { like: [owner.code] })
    expect(row!.balance).to.equal(5n)
  })

  /** Waits until a connection of this database is blocked by a lock. */
  async function untilOneWaits(): Promise<void> {
    for (let tries = 0; tries < 500; tries++) {
      const { rowCount } = await database.admin.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database()
         AND wait_event_type = 'Lock'`,
      )
      if (rowCount === 1) return
      await sleep(10)
    }
    throw new Error('nobody waits for a lock')
  }

  it('fixes its balances permanently', async () => {
    const dates = fc.array(fc.integer({ min: -90 * 86_400_000, max: 86_400_000 }), {
      maxLength: 25,
    })
    const seed = now.getTime() % 2 ** 31
    for (const offset of fc.sample(dates, { numRuns: 4, seed }).flat()) {
      await buy(new Date(Math.min(end.getTime() + offset, now.getTime())))
    }
    await buy(new Date(end.getTime() - 1))
    const numbers = async () => [
      await balancesAt(database.pool, start(1)),
      await balancesAt(database.pool, end),
      await statement(database.pool, owner.code, { from: start(1), to: end, limit: 1_000 }),
    ]
    await close(1)
    const fixed = await numbers()
    for (const offset of fc.sample(dates, { numRuns: 4, seed: seed + 1 }).flat()) {
      await buy(new Date(Math.min(end.getTime() + offset, now.getTime())))
    }
    await buy(new Date(end.getTime() - 1))
    expect(await numbers()).to.deep.equal(fixed)
  })

  it('dates each concurrent entry before it or in the open month', async () => {
    const lastInstant = new Date(end.getTime() - 1)
    const credits = async () =>
      (await balancesAt(database.pool, end, { like: [owner.code] }))[0]!.balance
    let closing: Promise<unknown> | undefined
    let asClosed: Promise<bigint> | undefined
    const ids: string[] = []
    const one = async (i: number): Promise<void> => {
      if (i === 40) {
        closing = close(1)
        asClosed = closing.then(credits)
      }
      ids.push(await buy(lastInstant, 1n))
    }
    for (let i = 0; i < 100; i += 5) {
      await Promise.all([0, 1, 2, 3, 4].map((j) => one(i + j)))
    }
    await closing
    const counted = await asClosed
    const dates = await Promise.all(ids.map(dateOf))
    const before = dates.filter(({ meant }) => meant === null)
    expect(before.length).to.be.within(36, 99)
    expect(before.every(({ at }) => at < end)).to.equal(true)
    expect(counted).to.equal(BigInt(before.length))
    expect(await credits()).to.equal(counted)
  })
})
