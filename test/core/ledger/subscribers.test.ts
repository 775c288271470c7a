import { expect } from 'chai'
import type { Pool } from 'pg'
import { sleep } from '../../../core/clock.ts'
import { createPool } from '../../../core/db/pool.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { runSubscribers } from '../../../core/ledger/outbox/run.ts'
import {
  advance,
  catchUp,
  enroll,
  type Page,
  rebuild,
  replay,
  type Subscriber,
  subscriberLags,
} from '../../../core/ledger/outbox/subscriber.ts'
import { createLog } from '../../../core/log.ts'
import { eventually } from '../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { journal, openTwoShards, recordingSubscriber } from './recording-subscriber.ts'
import { Traffic } from './traffic.ts'

const NEVER = 3_600_000
const silent = createLog('silent')

/** The journal is the outbox: every subscriber handles every entry once, in order. */
describe('subscribers of the journal', () => {
  let database: FreshDatabase
  let ledger: Ledger
  let traffic: Traffic

  beforeEach(async () => {
    database = await freshDatabase()
    ledger = await openTwoShards(database)
    traffic = await Traffic.open(database.pool, ledger)
    do await traffic.run(60)
    while (await isShort()) // a seed may leave a shard nearly empty
  })
  afterEach(() => database.drop())

  const isShort = async (): Promise<boolean> => {
    const all = await journal(database)
    return ['0/', '1/'].some((shard) => all.filter((entry) => entry.startsWith(shard)).length < 15)
  }

  const run = (
    subscribers: readonly Subscriber[],
    pollMs = NEVER,
    { pool, pageMax }: { pool: Pool; pageMax?: bigint } = database,
  ) => runSubscribers({ pool, subscribers, log: silent, pollMs, ...(pageMax && { pageMax }) })

  const failure = async (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'none',
      (error: Error) => `${error.message}: ${(error.cause as Error | undefined)?.message}`,
    )

  it('handle an entry once, also if their process ends between effect and commit', async () => {
    const ends = [
      async () => {
        throw new Error('the process ends here')
      },
      (kill: () => Promise<void>) => kill(),
    ]
    let tries = 0
    const { subscriber, noted } = await recordingSubscriber(database, 'fragile', async (_, kill) =>
      ends[tries++]?.(kill),
    )
    await enroll(database.pool, subscriber)
    const first = await failure(advance(database.pool, subscriber, 0, { pageMax: 4n }))
    expect(first).to.equal('fragile failed on shard 0, entries 1 to 4: the process ends here')
    expect(await noted()).to.deep.equal([])
    expect(await failure(advance(database.pool, subscriber, 0))).to.not.equal('none')
    expect(tries).to.equal(2)
    expect(await noted()).to.deep.equal([])
    await catchUp(database.pool, subscriber)
    expect(await noted()).to.deep.equal(await journal(database))
    expect(await catchUp(database.pool, subscriber)).to.equal(0n)
  })

  it('catch up with what was posted before, so that posting cannot keep them busy', async () => {
    let pages = 0 // of new entries: one of each shard
    const { subscriber, noted } = await recordingSubscriber(database, 'trailing', async (page) => {
      if (!page.replay && ++pages > 2) throw new Error('it goes on')
      await traffic.run(20)
    })
    const before = await journal(database)
    await catchUp(database.pool, subscriber)
    expect(await noted()).to.include.members(before)
  })

  it('share work among processes, and handle entries once and in order', async () => {
    const [one, other] = ['one', 'other'].map((applicationName) =>
      createPool(database.url, { role: 'hub_finance', max: 4, applicationName }),
    )
    const pages: Page[] = []
    const { subscriber, noted, given } = await recordingSubscriber(
      database,
      'shared',
      async (page) => {
        pages.push(page)
        await sleep(3)
      },
    )
    // Small pages give many turns to share, however fast the traffic is.
    const processes = await Promise.all(
      [one!, other!].map((pool) => run([subscriber], 50, { pool, pageMax: 8n })),
    )
    try {
      await Promise.all([traffic.run(200), traffic.run(200)])
      await eventually(async () => (await noted()).length === (await journal(database)).length)
    } finally {
      await Promise.all(processes.map((each) => each.stop()))
      await Promise.all([one!.end(), other!.end()])
    }
    expect(await given()).to.deep.equal(await journal(database))
    expect(pages.length).to.be.greaterThan(10)
    expect((await subscriberLags(database.pool)).map(({ behind }) => behind)).to.deep.equal([
      0n,
      0n,
    ])
  })

  it('skip a shard that another process is handling, and handle all others', async () => {
    let leave = (): void => {}
    const left = new Promise<void>((resolve) => {
      leave = resolve
    })
    const { subscriber, noted } = await recordingSubscriber(database, 'slow', () => left)
    const { length } = (await journal(database)).filter((entry) => entry.startsWith('0/'))
    await enroll(database.pool, subscriber)
    const working = advance(database.pool, subscriber, 0)
    await eventually(async () => {
      const { rows } = await database.admin.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database()
           AND state = 'idle in transaction' AND query LIKE '%hub.slow%'`,
      )
      return rows.length === 1
    })
    expect(await advance(database.pool, subscriber, 0)).to.equal(0n)
    leave()
    expect(await working).to.equal(BigInt(length))
    await advance(database.pool, subscriber, 1)
    expect(await noted()).to.deep.equal(await journal(database))
  })

  it('are woken by new entries without polling', async () => {
    const { subscriber, noted } = await recordingSubscriber(database, 'woken')
    const caughtUp = async () => (await noted()).length === (await journal(database)).length
    const listeners = async () => {
      const { rows } = await database.admin.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity
         WHERE query = 'LISTEN ledger' AND state = 'idle' AND datname = current_database()`,
      )
      return rows
    }
    const running = await run([subscriber])
    try {
      await eventually(async () => (await listeners()).length === 1)
      await eventually(caughtUp)
      for (const _ of [1, 2, 3]) {
        await traffic.run(3)
        await eventually(caughtUp)
      }
      const [lost] = await listeners()
      await database.admin.query('SELECT pg_terminate_backend($1)', [lost!.pid])
      await traffic.run(3) // without a notification: found when it listens again
      await eventually(caughtUp)
      await eventually(async () => (await listeners()).some(({ pid }) => pid !== lost!.pid))
      await traffic.run(3)
      await eventually(caughtUp)
    } finally {
      await running.stop()
    }
  })

  it('stop at an entry that they cannot handle, while others continue', async () => {
    let poisoned = true
    const poison = 7n
    const bad = await recordingSubscriber(database, 'bad', async ({ shard, from, to }) => {
      if (poisoned && shard === 0 && from <= poison && to >= poison) throw new Error('poison')
    })
    const good = await recordingSubscriber(database, 'good')
    const lines: string[] = []
    const log = createLog('info', { write: (line: string) => void lines.push(line) })
    const subscribers = [bad.subscriber, good.subscriber]
    const running = await runSubscribers({ pool: database.pool, subscribers, log, pollMs: 50 })
    try {
      await traffic.run(20)
      const all = await journal(database)
      const possible = all.filter(
        (entry) => entry.startsWith('1/') || Number(entry.slice(2)) < Number(poison),
      )
      await eventually(async () => (await good.noted()).length === all.length)
      await eventually(async () => (await bad.noted()).length === possible.length)
      expect(await bad.noted()).to.deep.equal(possible)
      await eventually(async () => lines.length > 0)
      expect(lines[0]).to.include('bad failed on shard 0, entries 7 to 7')
      poisoned = false
      await eventually(async () => (await bad.noted()).length === all.length)
      expect(await bad.given()).to.deep.equal(all)
    } finally {
      await running.stop()
    }
  })

  it('send nothing out for entries older than they are, or handled before', async () => {
    const handed: string[] = []
    const { subscriber } = await recordingSubscriber(
      database,
      'late',
      async ({ shard, from, to, replay }) => {
        if (replay) return
        for (let seq = from; seq <= to; seq++) handed.push(`${shard}/${seq}`)
      },
    )
    await enroll(database.pool, subscriber)
    const before = new Set(await journal(database))
    await traffic.run(20)
    await catchUp(database.pool, subscriber)
    await rebuild(database.pool, subscriber)
    await traffic.run(20) // new entries in the middle of a rebuild
    await catchUp(database.pool, subscriber)
    expect(handed).to.have.members((await journal(database)).filter((entry) => !before.has(entry)))
  })

  it('can be moved back to any entry unless they write tables', async () => {
    const handled: Page[] = []
    const teller: Subscriber = {
      name: 'teller',
      tables: [],
      handle: async (_, page) => void handled.push(page),
    }
    await catchUp(database.pool, teller)
    const [{ to }] = handled.splice(0) as [Page]
    await replay(database.pool, teller, { shard: 0, seq: 5n })
    await catchUp(database.pool, teller)
    expect(handled).to.deep.equal([{ shard: 0, from: 6n, to, replay: false }])
    const { subscriber } = await recordingSubscriber(database, 'keeper')
    const refused = await failure(replay(database.pool, subscriber, { shard: 0, seq: 5n }))
    expect(refused).to.match(/writes tables: rebuild it instead/)
  })

  it('stop after the current page and resume there', async () => {
    let stopped: Promise<void> | undefined
    const { subscriber, noted } = await recordingSubscriber(
      database,
      'stopped',
      async ({ shard, from }) => {
        if (shard === 0 && from === 6n) stopped = running.stop()
      },
    )
    const subscribers = [subscriber]
    const running = await runSubscribers({
      pool: database.pool,
      subscribers,
      log: silent,
      pageMax: 5n,
    })
    await eventually(async () => stopped !== undefined)
    await stopped
    const all = await journal(database)
    const onShard = (entry: string): boolean => entry.startsWith('0/')
    expect((await noted()).filter(onShard)).to.deep.equal(all.filter(onShard).slice(0, 10))
    const behind = (await subscriberLags(database.pool)).reduce((sum, lag) => sum + lag.behind, 0n)
    expect(behind).to.equal(BigInt(all.length - (await noted()).length))
    await catchUp(database.pool, subscriber)
    expect(await noted()).to.deep.equal(all)
  })
})
