import { expect } from 'chai'
import type { Pool } from 'pg'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import { type DatabaseClock, openDatabaseClock } from '../../../core/db/clock.ts'
import { ProcessLease } from '../../../core/db/process-lease.ts'
import { ReplicaReads, replicaUrl } from '../../../core/db/recent-reads.ts'
import { Fault } from '../../../core/errors.ts'
import { createLog } from '../../../core/log.ts'
import { eventually } from '../../support/eventually.ts'
import {
  type ReplicatedDatabase,
  startReplicatedDatabase,
} from '../../support/replicated-database.ts'

const MAX_AGE_MS = 3_000

describe('reads of a replica', () => {
  let servers: ReplicatedDatabase
  let primary: Pool
  let lease: ProcessLease
  let clock: DatabaseClock
  let reads: ReplicaReads
  const log = createLog('silent')

  before(async () => {
    servers = await startReplicatedDatabase()
    primary = servers.database.pool
    await servers.database.admin.query(`CREATE TABLE public.written (
      at timestamptz DEFAULT clock_timestamp()); GRANT ALL ON public.written TO PUBLIC`)
    lease = await ProcessLease.open(primary)
    clock = await openDatabaseClock(primary, log)
    const options = { url: servers.replicaUrl, maxAgeMs: MAX_AGE_MS }
    reads = new ReplicaReads(options, { primary, leaseId: lease.id, clock, log })
  })
  after(async () => {
    await reads?.close()
    clock?.close()
    await lease?.close()
    await servers?.database.drop()
    await servers?.remove()
  })

  /** Reads which server answers. */
  const isReplica = async (pool: Pool): Promise<boolean> =>
    (await pool.query('SELECT pg_is_in_recovery() AS yes')).rows[0].yes
  const readsReplica = async () => (await reads.read(isReplica)).result
  const readsPrimary = async () => !(await readsReplica())
  const write = () => primary.query('INSERT INTO public.written DEFAULT VALUES')

  it('contain everything that was committed before the instant that they state', async () => {
    await eventually(readsReplica)
    for (let n = 0; n < 60; await sleep(50)) {
      await write()
      const start = await primary.query('SELECT clock_timestamp() AS now')
      const { result, asOf } = await reads.read(async (pool) => ({
        isReplica: await isReplica(pool),
        ...(await pool.query('SELECT count(*) AS n FROM public.written')).rows[0],
      }))
      if (!result.isReplica) continue // it lags on a busy machine
      n++
      const { rows } = await primary.query(
        'SELECT count(*) AS n FROM public.written WHERE at < $1',
        [asOf],
      )
      expect(result.n >= rows[0].n, `${result.n} of ${rows[0].n} rows`).to.equal(true)
      expect(start.rows[0].now - asOf!.getTime()).to.be.below(MAX_AGE_MS)
    }
  })

  it('do not take an idle primary for a delay', async () => {
    await eventually(readsReplica)
    const answers: boolean[] = []
    for (const end = elapsedMs() + MAX_AGE_MS * 2; elapsedMs() < end; await sleep(200)) {
      answers.push(await readsReplica())
    }
    // A busy machine may delay a probe. A replica taken for delayed would serve the first half.
    const served = answers.filter((isServed) => isServed).length
    expect(served / answers.length).to.be.above(0.75)
  })

  it('find on the primary what the replica does not have yet', async () => {
    await eventually(readsReplica)
    await servers.onReplica('SELECT pg_wal_replay_pause()')
    try {
      await primary.query(`INSERT INTO public.written VALUES ('2001-01-01')`)
      const { result, asOf } = await reads.read(async (pool) => {
        const { rowCount } = await pool.query(`SELECT FROM public.written WHERE at = '2001-01-01'`)
        if (rowCount === 0) throw new Fault('not_found')
        return rowCount
      })
      expect({ result, asOf }).to.deep.equal({ result: 1, asOf: undefined })
    } finally {
      await servers.onReplica('SELECT pg_wal_replay_resume()')
    }
  })

  it('use a replica for an instant only once it has replayed that instant', async () => {
    await eventually(readsReplica)
    const now = clock.now()
    expect(reads.replicaSince(now)).to.equal(undefined)
    let replica: Pool | undefined
    await eventually(() => (replica = reads.replicaSince(now)) !== undefined)
    expect(await isReplica(replica!)).to.equal(true)
  })

  it('go to the primary while the replica lags, and back when it has caught up', async () => {
    await eventually(readsReplica)
    await servers.onReplica('SELECT pg_wal_replay_pause()')
    await eventually(readsPrimary)
    await servers.onReplica('SELECT pg_wal_replay_resume()')
    await eventually(readsReplica)
  })

  it('that a hung replica does not answer are repeated on the primary within seconds', async () => {
    await eventually(readsReplica)
    const resume = await servers.replica.suspend()
    try {
      const start = elapsedMs()
      expect(await readsReplica()).to.equal(false)
      expect(elapsedMs() - start, 'milliseconds').to.be.below(15_000)
      const next = elapsedMs()
      expect(await readsReplica()).to.equal(false)
      expect(elapsedMs() - next, 'milliseconds of the next read').to.be.below(2_000)
    } finally {
      resume()
    }
    await eventually(readsReplica)
  })

  it('survive the death of the replica, and return to it', async () => {
    await eventually(readsReplica)
    await servers.replica.kill()
    for (let n = 0; n < 5; n++) expect(await readsReplica()).to.equal(false)
    await servers.replica.start()
    await eventually(readsReplica)
  })

  it('that the replica cancels are repeated on the primary', async () => {
    await eventually(readsReplica)
    const { asOf } = await reads.read(async (pool) => {
      if (await isReplica(pool)) await pool.query('SELECT 1 / 0')
    })
    expect(asOf).to.equal(undefined)
  })

  it('refuse a replica that was promoted', async () => {
    await eventually(readsReplica)
    await servers.onReplica('SELECT pg_promote()')
    await eventually(async () => (await reads.read(async () => {})).asOf === undefined)
    for (let n = 0; n < 20; n++) {
      await write()
      const { result } = await reads.read((pool) => pool.query('SELECT FROM public.written'))
      const { rowCount } = await primary.query('SELECT FROM public.written')
      expect(result.rowCount).to.equal(rowCount)
      await sleep(100)
    }
  })
})

describe('the URL of a replica', () => {
  it('gets the login and, unless it names one, the database of the primary', () => {
    const login = 'postgres://hub_serving:s%2Fcret@primary:5432/hub?sslmode=disable'
    expect(replicaUrl('postgres://replica:6000?sslmode=verify-full', login)).to.equal(
      'postgres://hub_serving:s%2Fcret@replica:6000/hub?sslmode=verify-full',
    )
    expect(replicaUrl('postgres://replica/other', login)).to.equal(
      'postgres://hub_serving:s%2Fcret@replica/other',
    )
  })
})
