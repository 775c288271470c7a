import { expect } from 'chai'
import { PgBoss } from 'pg-boss'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { inTransaction } from '../../core/db/transaction.ts'
import { catchUp } from '../../core/ledger/outbox/subscriber.ts'
import { LOW_BALANCE, type LowBalance } from '../../core/usage/low-balance.ts'
import { subscribersOf, workHandedOn } from '../../jobs/subscribers.ts'
import { agent, order, smallBooks } from '../core/ledger/world.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'

describe('work that a reader of the journal hands on', function () {
  this.timeout(30_000)
  let database: FreshDatabase
  let boss: PgBoss

  before(async () => {
    database = await freshDatabase()
    boss = new PgBoss({ connectionString: database.url, max: 2 })
    boss.on('error', () => {})
    await boss.start()
  })
  after(async () => {
    await boss.stop({ graceful: false })
    await database.drop()
  })

  it('is in the queue if, and only if, the page was committed, and is done once', async () => {
    const told: LowBalance[] = []
    await workHandedOn(boss, database.url, async (fall) => void told.push(fall))
    const { books, payee } = await smallBooks(database.pool)
    const owner = await agent(books, LOW_BALANCE + 1n)
    const watching = subscribersOf(boss).find(({ name }) => name === 'low-balance')!
    const call = order(owner, payee, 5n)
    await books.reserve(call)

    const queued = async (): Promise<number> => {
      const sql = `SELECT count(*)::integer AS n FROM pgboss.job WHERE name = 'low-balance'
        AND data ->> 'account' = $1`
      return (await database.admin.query(sql, [owner.code])).rows[0].n
    }
    const { rows } = await database.pool.query('SELECT seq FROM ledger.head WHERE shard = 0')
    const page = { shard: 0, from: 1n, to: rows[0].seq as bigint, replay: false }
    await inTransaction(database.pool, async (client) => {
      await watching.handle(client, page)
      throw new Error('the process ends here')
    }).catch(() => {})
    expect(await queued()).to.equal(0)
    await catchUp(database.pool, watching)
    expect(await queued()).to.equal(1)
    const mine = () => told.filter(({ account }) => account === owner.code)
    for (
      const end = elapsedMs() + 15_000;
      mine().length === 0 && elapsedMs() < end;
      await sleep(50)
    );
    expect(mine()).to.have.length(1)
    expect(mine()[0]).to.deep.include({ balance: LOW_BALANCE - 4n, shard: 0 })
  })
})
