import { expect } from 'chai'
import { systemClock } from '../../../core/clock.ts'
import { advance, catchUp, enroll, rebuild } from '../../../core/ledger/outbox/subscriber.ts'
import { readSpending, spendingSubscriber } from '../../../core/usage/spending.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { openAgent, openGranted, openProvider, order } from '../ledger/fixture.ts'
import { dump, openTwoShards } from '../ledger/recording-subscriber.ts'
import { seed, Traffic } from '../ledger/traffic.ts'

const EVER = { from: '2026-01-01', to: '2999-12-31' }

describe('the spending of keys', () => {
  let database: FreshDatabase

  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(() => database.drop())

  it(`equals the charges and refunds reported to callers (seed ${seed})`, async () => {
    const traffic = await Traffic.open(database.pool, await openTwoShards(database))
    await traffic.run(400)
    await catchUp(database.pool, spendingSubscriber)
    const { rows } = await database.pool.query(
      `SELECT payer || ' ' || endpoint AS key, sum(calls)::bigint AS calls,
         sum(charged)::bigint AS charged, sum(free_calls)::bigint AS "freeCalls",
         sum(failed)::bigint AS failed, sum(released)::bigint AS released,
         sum(refunded)::bigint AS refunded
       FROM hub.spending GROUP BY 1`,
    )
    const stored = new Map(rows.map(({ key, ...sums }) => [key, sums]))
    expect(stored).to.deep.equal(traffic.sums)
    for (const name of ['calls', 'freeCalls', 'released', 'refunded'] as const) {
      expect(
        [...traffic.sums.values()].some((sums) => sums[name] > 0n),
        name,
      ).to.equal(true)
    }
  })

  it('is rebuilt byte for byte, with any page size, also during calls', async () => {
    const traffic = await Traffic.open(database.pool, await openTwoShards(database))
    await traffic.run(200)
    await catchUp(database.pool, spendingSubscriber)
    const before = await dump(database, spendingSubscriber)
    await rebuild(database.pool, spendingSubscriber)
    expect(await dump(database, spendingSubscriber)).to.equal('')
    await catchUp(database.pool, spendingSubscriber)
    expect(await dump(database, spendingSubscriber)).to.equal(before)

    const shards = await enroll(database.pool, spendingSubscriber)
    const dumps: string[] = []
    for (const pageMax of [1n, 13n]) {
      await rebuild(database.pool, spendingSubscriber)
      const going = traffic.run(60)
      for (const shard of shards) {
        while ((await advance(database.pool, spendingSubscriber, shard, { pageMax })) > 0n);
      }
      await going
    }
    await catchUp(database.pool, spendingSubscriber)
    dumps.push(await dump(database, spendingSubscriber))
    await rebuild(database.pool, spendingSubscriber)
    await catchUp(database.pool, spendingSubscriber)
    dumps.push(await dump(database, spendingSubscriber))
    expect(dumps[1]).to.equal(dumps[0])
    expect(dumps[0]).to.not.equal(before)
  })

  it('is grouped by day or service, with the free calls of the wallet', async () => {
    const books = await openTwoShards(database)
    const owner = await openAgent(books, 1_000n)
    const [, , key] = owner.code.split(':')
    const [payee, used] = [
      await openProvider(books, 'seller'),
      await books.account('equity:free-calls:used'),
    ]
    const free = await openGranted(books, 'FREECALL', 5n)
    const [, , principal] = free.code.split(':')
    await database.admin.query(
      `INSERT INTO hub.provider VALUES ('acme');
       INSERT INTO hub.service
         (slug, name, category, summary, provider, free_calls_per_month, state)
         VALUES ('tea', 'Tea', 'food', 'Tea.', 'acme', 5, 'active');
       INSERT INTO hub.endpoint (service, method, path, summary, input_schema)
         VALUES ('tea', 'POST', '/brew', 'Brews.', '{}');
       ALTER TABLE hub.principal DROP CONSTRAINT principal_id_check;
       ALTER TABLE hub.api_key DROP CONSTRAINT api_key_id_check;
       INSERT INTO hub.principal (id, shard) VALUES ('${principal}', 0);
       INSERT INTO hub.api_key (id, principal, credits)
         VALUES ('${key}', '${principal}', ${owner.id})`,
    )
    const { rows } = await database.pool.query('SELECT id FROM hub.endpoint')
    const endpoint: number = rows[0].id
    const calls = [
      order(owner, payee, 4n, { endpoint }),
      order(owner, payee, 5n, { endpoint }),
      order(owner, payee, 6n),
      order(free, used, 1n, { endpoint, commissionBps: 0 }),
    ]
    await Promise.all(calls.map((call) => books.reserve(call)))
    await books.settle(calls[0]!, 4n)
    await books.settle(calls[1]!, 2n)
    await books.release(calls[2]!)
    await books.settle(calls[3]!, 1n)
    await catchUp(database.pool, spendingSubscriber)

    const tea = { calls: 2n, charged: 6n, freeCalls: 1n, failed: 0n, released: 0n, refunded: 0n }
    const rest = { calls: 0n, charged: 0n, freeCalls: 0n, failed: 1n, released: 6n, refunded: 0n }
    const byService = await readSpending(database.pool, owner.code, { ...EVER, by: 'service' })
    expect(byService).to.deep.equal([
      { groupKey: '', ...rest },
      { groupKey: 'tea', ...tea },
    ])
    const today = systemClock.now().toISOString().slice(0, 10)
    const byDay = await readSpending(database.pool, owner.code, { ...EVER, by: 'day' })
    expect(byDay).to.deep.equal([{ groupKey: today, ...tea, failed: 1n, released: 6n }])
    const past = { from: '2020-01-01', to: '2020-12-31', by: 'day' } as const
    expect(await readSpending(database.pool, owner.code, past)).to.deep.equal([])
    const other = await openAgent(books, 7n)
    expect(await readSpending(database.pool, other.code, { ...EVER, by: 'day' })).to.deep.equal([])
  })
})
