import { expect } from 'chai'
import * as fc from 'fast-check'
import { systemClock } from '../../../../core/clock.ts'
import type { Account } from '../../../../core/ledger/events.ts'
import { balanceAt, balancesAt } from '../../../../core/ledger/history/balance.ts'
import { takeSnapshots } from '../../../../core/ledger/history/snapshot.ts'
import {
  type Statement,
  type StatementRange,
  statement,
} from '../../../../core/ledger/history/statement.ts'
import { totalsByAsset, trialBalance } from '../../../../core/ledger/trial-balance.ts'
import { verifyLedger } from '../../../../core/ledger/verify.ts'
import { bulkLedger } from '../../../bench/bulk-ledger.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { PROPERTY_MS } from '../../../support/suite.ts'
import { postRandomEntries } from './random-ledger.ts'
import {
  inPeriod,
  instantsOf,
  type ReferenceLine,
  readReferenceLines,
  sumBefore,
} from './reference.ts'

const seed = systemClock.now().getTime() % 2 ** 31

describe('the balance as of an instant', function () {
  this.timeout(PROPERTY_MS)

  /** Sources of the ledger, and how much of it has snapshots. */
  const SCENES: Readonly<Record<string, (database: FreshDatabase) => Promise<void>>> = {
    'of three shards with one clock, not summed up': async ({ admin }) => {
      const start = new Date('2026-11-03T00:00:00Z')
      const options = { shards: 3, agents: 9, providers: 3, batch: 12, start, stepMs: 1_000 }
      const ledger = await bulkLedger(admin, options)
      await ledger.load(40)
    },
    'of three shards with one clock, summed up in part': async (database) => {
      await SCENES['of three shards with one clock, not summed up']!(database)
      await smallChunks(database, 47)
      await database.pool.query('SELECT ledger.take_snapshots(0::smallint, 4)')
      await database.pool.query('SELECT ledger.take_snapshots(1::smallint, 100)')
    },
    'of calls, entries and snapshots at random': async (database) => {
      await smallChunks(database, 13)
      await postRandomEntries(database.pool, seed, { rounds: 60, shards: 2 })
    },
  }

  const smallChunks = ({ admin }: FreshDatabase, size: number): Promise<unknown> =>
    admin.query(
      `CREATE OR REPLACE FUNCTION ledger.chunk_size() RETURNS integer LANGUAGE sql
       IMMUTABLE RETURN ${size}`,
    )

  it('requires an existing account, a valid period and a valid cursor', async () => {
    const database = await freshDatabase()
    try {
      const [from, to] = [new Date('2026-11-01'), new Date('2026-12-01')]
      const ask = (account: Account, range: StatementRange) =>
        Promise.resolve()
          .then(() => statement(database.pool, account, range))
          .catch((error: Error) => error)
      expect(await ask('assets:none', { from, to })).to.equal(undefined)
      expect(await balanceAt(database.pool, 'assets:none', to)).to.equal(0n)
      const account = 'liabilities:holds'
      expect(await ask(account, { from: to, to: from })).to.be.instanceOf(RangeError)
      const date = '2026-11-03T00:00:00.000000Z'
      for (const after of [
        '',
        'x',
        date,
        `${date}.0`,
        `${date}.0.-1`,
        `${date}.0.1 `,
        `2${date}.0.1`,
      ]) {
        expect(await ask(account, { from, to, after }), after).to.be.instanceOf(RangeError)
      }
      const nothing = { opening: 0n, closing: 0n, debits: 0n, credits: 0n, movements: [] }
      expect(await ask(account, { from, to, after: `${date}.0.1` })).to.deep.equal({
        account,
        asset: 'USDC',
        ...nothing,
      })
    } finally {
      await database.drop()
    }
  })

  for (const [name, book] of Object.entries(SCENES)) {
    describe(name, () => {
      let database: FreshDatabase
      let facts: ReferenceLine[]
      let accounts: Account[]
      let instants: Date[]

      before(async () => {
        database = await freshDatabase()
        await book(database)
        const { checks } = await verifyLedger(database.pool)
        expect(checks.filter(({ bad }) => bad > 0n)).to.deep.equal([])
        facts = await readReferenceLines(database.pool)
        accounts = [...new Set(facts.map(({ account }) => account))]
        instants = instantsOf(facts)
      })
      after(() => database.drop())

      const pick = <T>(list: readonly T[], share: number): T =>
        list[Math.floor(share * list.length) % list.length]!
      const share = fc.double({ min: 0, max: 1, noNaN: true })

      it(`equals the sum of the postings with an earlier value date (seed ${seed})`, async () => {
        const property = fc.asyncProperty(share, share, async (a, b) => {
          const [account, instant] = [pick(accounts, a), pick(instants, b)]
          const found = await balanceAt(database.pool, account, instant)
          const where = `${account} ${instant.toISOString()}`
          expect(found, where).to.equal(sumBefore(facts, account, instant))
        })
        await fc.assert(property, { numRuns: 300, seed })
      })

      it('gives trial balances of zero for each asset, ending at the current one', async () => {
        for (const at of [0, 0.2, 0.5, 0.8, 0.95]) {
          const instant = pick(instants, at)
          const rows = await balancesAt(database.pool, instant)
          for (const [asset, sum] of totalsByAsset(rows)) expect(sum, asset).to.equal(0n)
          for (const { account, balance } of rows) {
            expect(balance, account).to.equal(sumBefore(facts, account, instant))
          }
        }
        const now = await trialBalance(database.pool)
        expect(await balancesAt(database.pool, new Date('2100-01-01'))).to.deep.equal(now)
        const some = await balancesAt(database.pool, new Date('2100-01-01'), {
          like: ['income:%', 'assets:%'],
        })
        const wanted = now.filter(({ account }) => /^(?:income|assets):/.test(account))
        expect(some).to.deep.equal(wanted)
        expect(await balancesAt(database.pool, new Date(), { like: ['none'] })).to.deep.equal([])
      })

      it(`gives statements with each movement once, in order (seed ${seed})`, async () => {
        const limit = fc.constantFrom(1, 3, 25, 25, 1_000)
        const property = fc.asyncProperty(share, share, share, limit, async (a, b, c, limit) => {
          const account = pick(accounts, a)
          const [from, to] = [pick(instants, b), pick(instants, c)].sort((x, y) => +x - +y)
          const range = { from: from!, to: to!, limit }
          const pages = await pagesOf(account, range)
          const movements = pages.flatMap((page) => page.movements)
          const key = ({ shard, seq, valueAt, bookedAt, amount }: Omit<ReferenceLine, 'account'>) =>
            `${valueAt} ${bookedAt} ${shard}/${seq} ${amount}`
          const expected = inPeriod(facts, account, range)
          expect(movements.map(key)).to.deep.equal(expected.map(key))
          const { opening, closing, debits, credits } = pages[0]!
          expect(opening).to.equal(sumBefore(facts, account, range.from))
          let balance = opening
          for (const movement of movements) {
            balance += movement.amount
            expect(movement.balance).to.equal(balance)
          }
          expect(closing).to.equal(balance)
          const sum = (list: ReferenceLine[]) =>
            list.reduce((total, { amount }) => total + amount, 0n)
          expect(credits).to.equal(sum(expected.filter(({ amount }) => amount > 0n)))
          expect(debits).to.equal(-sum(expected.filter(({ amount }) => amount < 0n)))
          for (const page of pages) expect(page).to.include({ opening, closing, debits, credits })
        })
        await fc.assert(property, { numRuns: 25, seed })
      })

      async function pagesOf(
        account: Account,
        range: { from: Date; to: Date; limit: number },
      ): Promise<Statement[]> {
        const pages: Statement[] = []
        for (let after: string | undefined; ; ) {
          const page = (await statement(database.pool, account, { ...range, after }))!
          pages.push(page)
          after = page.nextCursor
          if (after === undefined) return pages
          expect(page.movements.length, 'a page before the last').to.equal(range.limit)
        }
      }

      it('is the same after all snapshots are taken', async () => {
        const ask = async () => {
          const balances = [0.1, 0.4, 0.7, 0.99].map((at) =>
            balancesAt(database.pool, pick(instants, at)),
          )
          const range = { from: pick(instants, 0.3), to: pick(instants, 0.9), limit: 1_000 }
          const pages = accounts.map((account) => statement(database.pool, account, range))
          return [await Promise.all(balances), await Promise.all(pages)]
        }
        const before = await ask()
        await takeSnapshots(database.pool)
        expect(await ask()).to.deep.equal(before)
      })
    })
  }
})
