import { expect } from 'chai'
import type { PoolClient } from 'pg'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { runSubscribers } from '../../../core/ledger/outbox/run.ts'
import {
  advance,
  catchUp,
  lags,
  type Page,
  rebuild,
  type Subscriber,
} from '../../../core/ledger/outbox/subscriber.ts'
import { createLog } from '../../../core/log.ts'
import { LOW_BALANCE, type LowBalance, lowBalance } from '../../../core/usage/low-balance.ts'
import { spending, spendingOf } from '../../../core/usage/spending.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { agent, micros, newId, order, provider, smallBooks } from './world.ts'

const NEVER = 3_600_000
const silent = createLog('silent')

/** The journal's order is the outbox: every reader sees every entry once, in order. */
describe('the readers of the journal', function () {
  this.timeout(30_000)
  let database: FreshDatabase
  let books: Ledger

  beforeEach(async () => {
    database = await freshDatabase()
    books = (await smallBooks(database.pool)).books
  })
  afterEach(() => database.drop())

  /** A reader that keeps what it is given in a table of its own. */
  async function noting(name: string, then: (page: Page) => Promise<void> = async () => {}) {
    await database.admin.query(
      `CREATE TABLE hub.${name} (shard smallint, seq bigint);
       GRANT SELECT, INSERT, DELETE ON hub.${name} TO hub_app`,
    )
    const subscriber: Subscriber = {
      name,
      tables: [`hub.${name}`],
      async handle(client: PoolClient, page) {
        await client.query(
          `INSERT INTO hub.${name} SELECT $1, generate_series($2::bigint, $3::bigint)`,
          [page.shard, page.from, page.to],
        )
        await then(page)
      },
    }
    const noted = async (): Promise<string[]> => {
      const sql = `SELECT shard || '/' || seq AS entry FROM hub.${name} ORDER BY shard, seq`
      return (await database.pool.query(sql)).rows.map(({ entry }) => entry as string)
    }
    return { subscriber, noted }
  }

  const journal = async (): Promise<string[]> => {
    const sql = `SELECT shard || '/' || seq AS entry FROM ledger.journal ORDER BY shard, seq`
    return (await database.pool.query(sql)).rows.map(({ entry }) => entry as string)
  }

  async function moreCalls(count: number): Promise<void> {
    const [owner, payee] = [await agent(books, 10n ** 9n), await provider(books, 'more')]
    const calls = Array.from({ length: count }, (_, i) =>
      order(owner, payee, 5n, { endpoint: i % 3 }),
    )
    await Promise.all(calls.map((call) => books.reserve(call)))
    await Promise.all(
      calls.map((call, i) => (i % 4 ? books.settle(call, 3n) : books.release(call))),
    )
  }

  const until = async (what: () => Promise<boolean>): Promise<void> => {
    for (const end = elapsedMs() + 10_000; !(await what()); await sleep(10)) {
      if (elapsedMs() > end) throw new Error('it never came to be')
    }
  }

  it('see an entry once, also when their process ends between effect and commit', async () => {
    let failures = 2
    const { subscriber, noted } = await noting('fragile', async () => {
      if (failures-- > 0) throw new Error('the process ends here')
    })
    for (const _ of [1, 2]) {
      await advance(database.pool, subscriber, 0, 4n).then(
        () => expect.fail('it did not fail'),
        (error: Error) => expect(error.message).to.equal('the process ends here'),
      )
      expect(await noted()).to.deep.equal([])
    }
    await catchUp(database.pool, subscriber)
    expect(await noted()).to.deep.equal(await journal())
    expect(await catchUp(database.pool, subscriber)).to.equal(0n)
  })

  it('share their work among processes, and see entries once and in order all the same', async () => {
    await moreCalls(150)
    const pages: Page[] = []
    const { subscriber, noted } = await noting('shared', async (page) => {
      pages.push(page)
      await sleep(1)
    })
    const work = async (): Promise<void> => {
      for (let tries = 0; tries < 60; tries++) await advance(database.pool, subscriber, 0, 7n)
    }
    await Promise.all([work(), work(), work(), moreCalls(20)])
    await catchUp(database.pool, subscriber)
    expect(await noted()).to.deep.equal(await journal())
    for (const [i, page] of pages.entries()) {
      expect(page.from).to.equal(i === 0 ? 1n : pages[i - 1]!.to + 1n)
    }
    expect((await lags(database.pool)).filter(({ behind }) => behind > 0n)).to.deep.equal([])
  })

  it('are woken by what is booked, with nothing to look by themselves', async () => {
    const { subscriber, noted } = await noting('woken')
    const running = runSubscribers({
      pool: database.pool,
      subscribers: [subscriber],
      log: silent,
      pollMs: NEVER,
    })
    try {
      await until(async () => (await noted()).length === (await journal()).length)
      await sleep(100) // it listens by now
      await moreCalls(3)
      await until(async () => (await noted()).length === (await journal()).length)
      const { rowCount } = await database.admin.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE query = 'LISTEN ledger' AND datname = current_database()`,
      )
      expect(rowCount).to.equal(1)
      await moreCalls(3) // heard of when it listens again
      await until(async () => (await noted()).length === (await journal()).length)
    } finally {
      await running.stop()
    }
  })

  it('do not wait for one of them that fails, which goes on when it can', async () => {
    let poisoned = true
    const bad = await noting('bad', async () => {
      if (poisoned) throw new Error('poison')
    })
    const good = await noting('good')
    const subscribers = [bad.subscriber, good.subscriber]
    const running = runSubscribers({ pool: database.pool, subscribers, log: silent, pollMs: 50 })
    try {
      await until(async () => (await good.noted()).length === (await journal()).length)
      expect(await bad.noted()).to.deep.equal([])
      poisoned = false
      await until(async () => (await bad.noted()).length === (await journal()).length)
    } finally {
      await running.stop()
    }
  })

  describe('that keep something', () => {
    const dump = async (tables: readonly string[]): Promise<string> => {
      const texts = tables.map(async (table) => {
        const { rows } = await database.pool.query<{ line: string }>(
          `SELECT t::text AS line FROM ${table} t ORDER BY 1`,
        )
        return rows.map(({ line }) => line).join('\n')
      })
      return (await Promise.all(texts)).join('\n\n')
    }

    it('make it anew, byte for byte, however entries fall on pages', async () => {
      await moreCalls(120)
      const poor = await agent(books, LOW_BALANCE + 5n)
      const payee = await provider(books, 'rich')
      for (const _ of [1, 2, 3]) {
        const call = order(poor, payee, 7n)
        await books.reserve(call)
        await books.settle(call, 2n)
      }
      const handed: LowBalance[] = []
      const watching = lowBalance(async (_, fall) => void handed.push(fall))
      for (const subscriber of [spending, watching]) {
        await catchUp(database.pool, subscriber)
        const kept = await dump(subscriber.tables)
        expect(kept).to.not.equal('')
        for (const pageMax of [1n, 7n, 1_000n]) {
          await rebuild(database.pool, subscriber)
          expect((await dump(subscriber.tables)).trim()).to.equal('')
          const traffic = moreCalls(5)
          while ((await advance(database.pool, subscriber, 0, pageMax)) > 0n);
          await traffic
        }
        await catchUp(database.pool, subscriber)
        const after = await dump(subscriber.tables)
        await rebuild(database.pool, subscriber)
        await catchUp(database.pool, subscriber)
        expect(await dump(subscriber.tables)).to.equal(after)
      }
      const ofPoor = handed.filter(({ account }) => account === poor.code)
      expect(ofPoor, 'handed on once, and not again by a rebuild').to.have.length(1)
    })

    it('know what each key spent, by day and by service, with what came back', async () => {
      const [owner, payee] = [await agent(books, 1_000n), await provider(books, 'seller')]
      const calls = [4n, 5n, 6n].map((amount) => order(owner, payee, amount, { endpoint: 7 }))
      await Promise.all(calls.map((call) => books.reserve(call)))
      await Promise.all([books.settle(calls[0]!, 4n), books.settle(calls[1]!, 2n)])
      await books.release(calls[2]!)
      const parties = { credits: owner.code, payee: payee.code }
      const parts = { refunded: micros(4n), commission: micros(0n), receivable: micros(0n) }
      await books.post(
        { type: 'call.reversed', ...parties, ...parts },
        { owner, id: calls[0]!.call, meta: { author: 'a', reason: 'r' } },
      )
      await catchUp(database.pool, spending)
      const days = { from: '2026-01-01', to: '2999-12-31' }
      const byDay = await spendingOf(database.pool, owner.code, { ...days, by: 'day' })
      const sums = { calls: 2n, charged: 6n, givenBack: 1n, reversed: 4n }
      expect(byDay).to.have.length(1)
      expect(byDay[0]).to.deep.include(sums)
      expect(byDay[0]!.of).to.match(/^\d{4}-\d\d-\d\d$/)
      const byService = await spendingOf(database.pool, owner.code, { ...days, by: 'service' })
      expect(byService).to.deep.equal([{ of: '', ...sums }])
      const before = { from: '2020-01-01', to: '2020-12-31', by: 'day' } as const
      expect(await spendingOf(database.pool, owner.code, before)).to.deep.equal([])
    })

    it('tell of credits that ran low once for each fall, and again after money came in', async () => {
      const [owner, payee] = [await agent(books, LOW_BALANCE + 10n), await provider(books, 'dear')]
      const small = await agent(books, 5n) // never above: nobody is told
      const told: LowBalance[] = []
      const own = new Set([owner.code, small.code])
      const watching = lowBalance(async (_, fall) => {
        if (own.has(fall.account)) told.push(fall)
      })
      const spend = async (amount: bigint, back = false): Promise<void> => {
        const call = order(owner, payee, amount)
        await books.reserve(call)
        await (back ? books.release(call) : books.settle(call, amount))
        await catchUp(database.pool, watching)
      }
      await books.reserve(order(small, payee, 5n))
      await spend(10n) // exactly the threshold
      expect(told).to.deep.equal([])
      await spend(20n, true) // a hold takes it below, and goes back
      expect(told.map(({ balance }) => balance)).to.deep.equal([LOW_BALANCE - 20n])
      await spend(30n)
      expect(told, 'the hold that went back is no rise').to.have.length(1)
      const gift = { type: 'credits.granted', credits: owner.code, amount: micros(100n) } as const
      await books.post(gift, { owner, id: newId() })
      await spend(80n)
      expect(told.map(({ balance }) => balance)).to.deep.equal([
        LOW_BALANCE - 20n,
        LOW_BALANCE - 10n,
      ])
      expect(told.every(({ account }) => account === owner.code)).to.equal(true)
    })
  })
})
