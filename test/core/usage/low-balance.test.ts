import { expect } from 'chai'
import type { AccountRef, Ledger } from '../../../core/ledger/ledger.ts'
import { advance, catchUp, enroll, rebuild } from '../../../core/ledger/outbox/subscriber.ts'
import {
  LOW_BALANCE_THRESHOLD,
  type LowBalance,
  lowBalanceSubscriber,
  setLowBalanceThreshold,
} from '../../../core/usage/low-balance.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { micros, newId, openAgent, openProvider, order } from '../ledger/fixture.ts'
import { dump, openTwoShards } from '../ledger/recording-subscriber.ts'
import { seed, Traffic } from '../ledger/traffic.ts'

const THRESHOLD = micros(150_000n)

describe('low credits', () => {
  let database: FreshDatabase
  let books: Ledger
  let payee: AccountRef
  const notices: LowBalance[] = []
  const watching = lowBalanceSubscriber(async (_, fall) => void notices.push(fall))

  beforeEach(async () => {
    notices.length = 0
    database = await freshDatabase()
    books = await openTwoShards(database)
    payee = await openProvider(books, 'dear')
    await enroll(database.pool, watching)
  })
  afterEach(() => database.drop())

  async function spend(owner: AccountRef, amount: bigint, charged = amount): Promise<void> {
    const call = order(owner, payee, amount)
    await books.reserve(call)
    await catchUp(database.pool, watching)
    await (charged > 0n ? books.settle(call, charged) : books.release(call))
    await catchUp(database.pool, watching)
  }

  async function topUp(owner: AccountRef, amount: bigint): Promise<void> {
    const event = { type: 'credits.purchased', credits: owner.code } as const
    await books.post({ ...event, amount: micros(amount) }, { owner, id: newId() })
  }

  const balances = (): bigint[] => notices.splice(0).map(({ balance }) => balance)

  it('are reported once per fall, and again after money raised them to the threshold', async () => {
    const owner = await openAgent(books, LOW_BALANCE_THRESHOLD + 10n)
    await spend(owner, 10n)
    expect(balances(), 'exactly the threshold').to.deep.equal([])
    await spend(owner, 20n, 3n)
    expect(balances()).to.deep.equal([LOW_BALANCE_THRESHOLD - 3n])
    await spend(owner, 7n)
    await topUp(owner, 9n)
    await spend(owner, 1n)
    expect(balances(), 'never above meanwhile').to.deep.equal([])
    await topUp(owner, 100n)
    await spend(owner, 200n)
    expect(balances()).to.deep.equal([LOW_BALANCE_THRESHOLD - 102n])
  })

  it('are reported once for many calls of one page, at the call that made them fall', async () => {
    const owner = await openAgent(books, LOW_BALANCE_THRESHOLD + 5n)
    const calls = Array.from({ length: 10 }, () => order(owner, payee, 1n))
    for (const call of calls) {
      await books.reserve(call)
      await books.settle(call, 1n)
    }
    await topUp(owner, 50n)
    await spend(owner, 60n)
    const { rows } = await database.pool.query(
      `SELECT seq FROM ledger.journal WHERE id = $1 AND phase = 2`,
      [calls[5]!.call],
    )
    expect(notices.map(({ seq }) => seq)[0]).to.equal(rows[0].seq)
    expect(notices[0]).to.deep.include({
      account: owner.code,
      threshold: LOW_BALANCE_THRESHOLD,
      shard: 0,
    })
    expect(balances()).to.deep.equal([LOW_BALANCE_THRESHOLD - 1n, LOW_BALANCE_THRESHOLD - 15n])
  })

  it('are not reported for a pending call, nor for a key that never had that much', async () => {
    const owner = await openAgent(books, LOW_BALANCE_THRESHOLD + 10n)
    const small = await openAgent(books, LOW_BALANCE_THRESHOLD - 1n)
    await spend(owner, 20n, 0n)
    await spend(small, 20n)
    expect(balances()).to.deep.equal([])
    await spend(owner, 20n)
    expect(balances(), 'the failed call triggered nothing').to.have.length(1)
  })

  it('are reported below the threshold of the key, if it has one', async () => {
    const owner = await openAgent(books, LOW_BALANCE_THRESHOLD + 10n)
    await setLowBalanceThreshold(database.pool, owner.id, micros(500n))
    await spend(owner, LOW_BALANCE_THRESHOLD - 500n)
    expect(balances()).to.deep.equal([])
    await spend(owner, 11n)
    expect(notices[0]?.threshold).to.equal(500n)
    expect(balances()).to.deep.equal([499n])
    await setLowBalanceThreshold(database.pool, owner.id, null)
    await topUp(owner, LOW_BALANCE_THRESHOLD)
    await spend(owner, 500n)
    expect(balances()).to.deep.equal([LOW_BALANCE_THRESHOLD - 1n])
  })

  it(`are reported exactly where ledger postings cross the threshold (seed ${seed})`, async () => {
    const traffic = await startTraffic()
    for (const _ of [1, 2, 3]) {
      await traffic.run(100)
      await catchUp(database.pool, watching)
    }
    const fallen = await fall()
    const { rows } = await database.pool.query<{ bad: string }>(
      `SELECT a.code AS bad FROM hub.credit_watch w
       JOIN ledger.account a ON a.id = w.account
       JOIN ledger.balance b ON b.account = a.id
       WHERE w.balance <> b.balance + coalesce(
         (SELECT sum(h.amount) FROM ledger.open_hold h WHERE h.owner = a.id), 0)`,
    )
    expect(rows).to.deep.equal([])
    const positions = notices.map(({ shard, seq, balance }) => `${shard}/${seq} ${balance}`)
    expect(positions.length).to.be.greaterThan(0)
    expect(positions).to.have.members(await crossings([...traffic.credits, fallen]))
  })

  /** Starts random traffic of agents that repeatedly fall below their threshold. */
  async function startTraffic(): Promise<Traffic> {
    const traffic = await Traffic.open(database.pool, books)
    for (const owner of traffic.credits) {
      await setLowBalanceThreshold(database.pool, owner.id, THRESHOLD)
      await topUp(owner, 2n * THRESHOLD)
    }
    return traffic
  }

  /** Makes an agent fall, because random traffic may not. */
  async function fall(): Promise<AccountRef> {
    const owner = await openAgent(books, THRESHOLD)
    await setLowBalanceThreshold(database.pool, owner.id, THRESHOLD)
    await spend(owner, 1n)
    return owner
  }

  /** Finds crossings posting by posting; holds still count as the key's balance. */
  async function crossings(owners: readonly AccountRef[]): Promise<string[]> {
    const found: string[] = []
    for (const { id } of owners) {
      const { rows } = await database.pool.query<{ shard: number; seq: bigint; amount: string }>(
        `SELECT shard, seq, sum(amount)::text AS amount FROM ledger.posting
         WHERE account_id = $1 OR account = 'liabilities:holds' AND owner = $1
         GROUP BY shard, seq ORDER BY seq`,
        [id],
      )
      let balance = 0n
      for (const { shard, seq, amount } of rows) {
        const before = balance
        balance += BigInt(amount)
        if (before >= THRESHOLD && balance < THRESHOLD) found.push(`${shard}/${seq} ${balance}`)
      }
    }
    return found
  }

  it('are recorded again byte for byte by a rebuild, which reports nothing twice', async () => {
    const traffic = await startTraffic()
    await traffic.run(200)
    await fall()
    const before = await dump(database, watching)
    const count = notices.length
    for (const pageMax of [2n, 17n]) {
      await rebuild(database.pool, watching)
      expect((await dump(database, watching)).trim()).to.equal('')
      for (const shard of [0, 1]) {
        while ((await advance(database.pool, watching, shard, { pageMax })) > 0n);
      }
      expect(await dump(database, watching)).to.equal(before)
    }
    expect(notices).to.have.length(count)
    await rebuild(database.pool, watching)
    await traffic.run(100)
    await catchUp(database.pool, watching)
    const { rowCount } = await database.pool.query('SELECT FROM hub.low_balance')
    expect(notices, 'new falls are reported').to.have.length(rowCount!)
  })
})
