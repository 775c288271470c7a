import { expect } from 'chai'
import { PgBoss } from 'pg-boss'
import { inTransaction } from '../../core/db/transaction.ts'
import type { AccountRef, Ledger } from '../../core/ledger/ledger.ts'
import { runSubscribers } from '../../core/ledger/outbox/run.ts'
import { catchUp, enroll, rebuild, type Subscriber } from '../../core/ledger/outbox/subscriber.ts'
import { createLog } from '../../core/log.ts'
import { LOW_BALANCE_THRESHOLD, type LowBalance } from '../../core/usage/low-balance.ts'
import { createSubscribers, logLowBalance, workLowBalanceQueue } from '../../jobs/subscribers.ts'
import { openAgent, order, sampleLedger } from '../core/ledger/fixture.ts'
import { eventually } from '../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'

describe('work that a journal subscriber queues', () => {
  let database: FreshDatabase
  let boss: PgBoss
  let other: PgBoss
  let ledger: Ledger
  let payee: AccountRef
  let subscribers: readonly Subscriber[]
  let lowBalance: Subscriber
  const handled: LowBalance[] = []
  const lines: string[] = []

  before(async () => {
    database = await freshDatabase()
    const start = async (): Promise<PgBoss> => {
      const started = new PgBoss({ connectionString: database.url, max: 2 })
      started.on('error', () => {})
      await started.start()
      return started
    }
    boss = await start()
    other = await start()
    const log = logLowBalance(createLog('info', { write: (line) => void lines.push(line) }))
    const handle = async (fall: LowBalance): Promise<void> => {
      handled.push(fall)
      await log(fall)
    }
    await Promise.all([workLowBalanceQueue(boss, handle), workLowBalanceQueue(other, handle)])
    subscribers = createSubscribers(boss)
    lowBalance = subscribers.find(({ name }) => name === 'low-balance')!
    ;({ ledger, payee } = await sampleLedger(database.pool))
    for (const subscriber of subscribers) await enroll(database.pool, subscriber)
  })
  after(async () => {
    await Promise.all([boss, other].map((each) => each.stop({ graceful: false })))
    await database.drop()
  })

  async function fall(): Promise<AccountRef> {
    const owner = await openAgent(ledger, LOW_BALANCE_THRESHOLD + 1n)
    const call = order(owner, payee, 5n)
    await ledger.reserve(call)
    await ledger.settle(call, 4n)
    return owner
  }

  const queued = async ({ code }: AccountRef): Promise<number> => {
    const sql = `SELECT count(*)::integer AS n FROM pgboss.job WHERE name = 'low-balance'
      AND data ->> 'account' = $1`
    return (await database.admin.query(sql, [code])).rows[0].n
  }

  it('is queued if and only if its page commits, and not by a rebuild', async () => {
    const owner = await fall()
    const { rows } = await database.pool.query('SELECT seq FROM ledger.head WHERE shard = 0')
    const page = { shard: 0, from: 1n, to: rows[0].seq as bigint, replay: false }
    const failed = inTransaction(database.pool, async (client) => {
      await lowBalance.handle(client, page)
      throw new Error('the process ends here')
    }).catch((error: Error) => error.message)
    expect(await failed).to.equal('the process ends here')
    expect(await queued(owner)).to.equal(0)
    await catchUp(database.pool, lowBalance)
    expect(await queued(owner)).to.equal(1)
    await rebuild(database.pool, lowBalance)
    await catchUp(database.pool, lowBalance)
    expect(await queued(owner)).to.equal(1)
  })

  it('reaches exactly one handler among all processes after the entry is posted', async () => {
    const log = createLog('silent')
    const running = await runSubscribers({ pool: database.pool, subscribers, log })
    try {
      const owner = await fall()
      const mine = () => handled.filter(({ account }) => account === owner.code)
      await eventually(async () => mine().length > 0)
      expect(mine()).to.have.length(1)
      const { seq, ...rest } = mine()[0]!
      expect(seq > 0n).to.equal(true)
      const balance = LOW_BALANCE_THRESHOLD - 3n
      const { code: account } = owner
      expect(rest).to.deep.equal({ account, balance, threshold: LOW_BALANCE_THRESHOLD, shard: 0 })
      expect(lines.join('')).to.match(new RegExp(`"account":"${account}","balance":"${balance}"`))
    } finally {
      await running.stop()
    }
  })
})
