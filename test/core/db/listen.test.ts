import { expect } from 'chai'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import { listenOnWorkers } from '../../../core/db/citus/listen-on-workers.ts'
import { listenOnChannel } from '../../../core/db/listen.ts'
import { createPool } from '../../../core/db/pool.ts'
import { createLog } from '../../../core/log.ts'
import { eventually } from '../../support/eventually.ts'
import { FaultProxy } from '../../support/fault-proxy.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

/** Outage after which a pause that grew with each attempt would be long. */
const OUTAGE_MS = 8_000
/** The longest pause between two attempts, and time to connect on a busy machine. */
const LISTENS_AGAIN_MS = 5_000

describe('a listener of a database channel', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  it('listens again within seconds after an outage, and reports the gap', async () => {
    const url = new URL(database.url)
    const proxy = await FaultProxy.start(Number(url.port))
    url.port = String(proxy.port)
    url.hostname = '127.0.0.1'
    const pool = createPool(url.href, { max: 1 })
    const stopping = new AbortController()
    const received: unknown[] = []
    const counts = { listening: 0, lost: 0 }
    const ended = listenOnChannel(
      pool,
      {
        channel: 'news',
        onNotify: (payload) => received.push(payload),
        onListening: () => counts.listening++,
        onLost: () => counts.lost++,
      },
      createLog('silent'),
      stopping.signal,
    )
    try {
      await eventually(() => counts.listening === 1)
      await proxy.fail('refuses')
      await sleep(OUTAGE_MS)
      expect(counts.listening).to.equal(1)
      expect(counts.lost).to.be.at.least(1)
      await proxy.fail(undefined)
      const start = elapsedMs()
      await eventually(() => counts.listening === 2)
      expect(elapsedMs() - start).to.be.below(LISTENS_AGAIN_MS)
      await database.admin.query(`NOTIFY news, 'again'`)
      await eventually(() => received.includes('again'))
    } finally {
      stopping.abort()
      await ended
      await pool.end()
      await proxy.close()
    }
  })
})

describe('a listener of the workers of a cluster', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase(undefined, { empty: true })
  })
  after(() => database.drop())

  it('starts on workers that are added, and stops on those that are removed', async () => {
    const { admin, url } = database
    const { port } = new URL(url)
    // Stand-in for the metadata of Citus: this server is each worker.
    await admin.query(
      `CREATE TABLE pg_dist_node (nodeid integer, nodename text, nodeport integer, groupid integer,
         isactive boolean DEFAULT true, noderole text DEFAULT 'primary')`,
    )
    const add = (id: number, host: string) =>
      admin.query('INSERT INTO pg_dist_node VALUES ($1, $2, $3, $1)', [id, host, port])
    const listening = async (): Promise<readonly number[]> => {
      const { rows } = await admin.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND query = 'LISTEN news' AND state = 'idle'`,
      )
      return rows.map(({ pid }) => pid)
    }
    await add(1, '127.0.0.1')
    const pool = createPool(url, { max: 1 })
    const stopping = new AbortController()
    const received: unknown[] = []
    const ended = listenOnWorkers(
      pool,
      {
        channel: 'news',
        onNotify: (payload) => received.push(payload),
        onListening: () => {},
      },
      createLog('silent'),
      stopping.signal,
    )
    try {
      await eventually(async () => (await listening()).length === 1)
      const [first] = await listening()
      await add(2, 'localhost')
      await admin.query('DELETE FROM pg_dist_node WHERE nodeid = 1')
      await eventually(async () => {
        const pids = await listening()
        return pids.length === 1 && pids[0] !== first
      })
      await admin.query(`NOTIFY news, 'heard'`)
      await eventually(() => received.includes('heard'))
    } finally {
      stopping.abort()
      await ended
      await pool.end()
    }
    // The server ends a session shortly after its client has left.
    await eventually(async () => (await listening()).length === 0)
  })
})
