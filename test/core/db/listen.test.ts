import { expect } from 'chai'
import { elapsedMs, sleep } from '../../../core/clock.ts'
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

  it('listens again within seconds after an outage, and reports the gap', async function () {
    this.timeout(60_000)
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
