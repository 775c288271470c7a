import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { signingKeyOf } from '../../core/crypto/signing-key.ts'
import { pendingWork } from '../../core/finance/pending-work.ts'
import { RetainedCheckpoints } from '../../core/ledger/retained-checkpoints.ts'
import { readLastVerification } from '../../core/ledger/verify/last-verification.ts'
import { createLog } from '../../core/log.ts'
import { OutgoingSwitch } from '../../core/payments/operations/outgoing-switch.ts'
import { verifyFullyJob, verifyLedgerJob, verifyWhenDue } from '../../jobs/verify-ledger.ts'
import { order, sampleLedger } from '../core/ledger/fixture.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'

describe('the ledger verification job', () => {
  let database: FreshDatabase
  let dataDir: string
  const signingKey = signingKeyOf(generateKeyPairSync('ed25519').privateKey)

  beforeEach(async () => {
    database = await freshDatabase()
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
  })
  afterEach(async () => {
    await database.drop()
    await rm(dataDir, { recursive: true, force: true })
  })

  it('signs a valid ledger, and pauses payments if it is invalid', async () => {
    const lines: string[] = []
    const log = createLog('info', { write: (line: string) => void lines.push(line) }, [])
    const retained = new RetainedCheckpoints(dataDir)
    const { pool } = database
    const run = () => verifyLedgerJob({ pool, signingKey, retained, log })
    const outgoing = new OutgoingSwitch(database.pool)
    const countCheckpoints = async (): Promise<number> =>
      (await database.pool.query('SELECT FROM ledger.checkpoint')).rowCount!
    const { ledger, owner, payee } = await sampleLedger(database.pool)
    await run()
    await run() // nothing new: nothing to sign
    expect(await countCheckpoints()).to.equal(1)
    expect(lines).to.deep.equal([])
    expect((await readLastVerification(database.pool))!.failures).to.deep.equal([])
    expect(await outgoing.state()).to.equal(undefined)

    const call = order(owner, payee, 7n)
    await ledger.reserve(call)
    await database.admin.query(
      `BEGIN; SET LOCAL session_replication_role = replica;
       UPDATE ledger.journal SET endpoint = 9 WHERE id = '${call.call}'; COMMIT`,
    )
    await run()
    await run()
    expect(await countCheckpoints()).to.equal(1)
    expect(lines).to.have.length(2)
    expect(lines[1]).to.match(/ledger verification failed.*verify|every row is as it was written/s)
    expect(lines[1]).to.include(call.call)
    expect(await outgoing.state()).to.include({ paused: true, author: 'verify-ledger' })
    const last = (await readLastVerification(database.pool))!
    expect(last.failures.join()).to.include('every row is as it was written: 1, first shard 0 seq')
    expect(last.soundAt).to.be.below(last.at)
  })

  it('runs each minute, and sooner if there are many new entries, but not before', async () => {
    const { pool, admin } = database
    const deps = { pool, signingKey, retained: new RetainedCheckpoints(dataDir) }
    const runs = async () => {
      const before = (await readLastVerification(pool))?.at
      await verifyWhenDue({ ...deps, log: createLog('silent') })
      return (await readLastVerification(pool))!.at > (before ?? 0)
    }
    const { ledger, owner, payee } = await sampleLedger(pool)
    expect(await runs(), 'the first').to.equal(true)
    await ledger.reserve(order(owner, payee, 7n))
    expect(await runs(), 'one new entry').to.equal(false)
    await admin.query(`UPDATE ledger.verification SET at = at - interval '61 seconds'`)
    expect(await runs(), 'a minute later').to.equal(true)
    await admin.query(`UPDATE ledger.head SET seq = seq + 20000 WHERE shard = 0`)
    expect(await runs(), 'many entries').to.equal(true)
    expect((await readLastVerification(pool))!.failures, 'they do not exist').not.to.be.empty
    expect(await runs(), 'a failed run leaves them unverified').to.equal(false)
    await admin.query(`UPDATE ledger.verification SET at = at - interval '61 seconds'`)
    expect(await runs(), 'a minute after it').to.equal(true)
  })

  it('verifies all entries once a day, and finds an old row that was changed', async () => {
    const log = createLog('silent')
    const retained = new RetainedCheckpoints(dataDir)
    const { pool, admin } = database
    const minutely = () => verifyLedgerJob({ pool, signingKey, retained, log })
    const daily = () => verifyFullyJob({ pool, retained, log })
    const last = async () => (await readLastVerification(pool))!
    await sampleLedger(pool)
    await minutely()
    await daily()
    expect((await last()).fullAt, 'the first entry is not a day old').to.equal(null)

    const passDay = () =>
      admin.query(`UPDATE ledger.verification SET full_at = now() - interval '25 hours'`)
    await passDay()
    await daily()
    const { failures: none, fullSoundAgeSeconds } = await last()
    expect(none).to.deep.equal([])
    expect(fullSoundAgeSeconds, 'much less than a day').to.be.below(3_600)
    await admin.query(
      `BEGIN; SET LOCAL session_replication_role = replica;
       UPDATE ledger.journal SET meta = '{"x":1}' WHERE seq = 1; COMMIT`,
    )
    await minutely()
    await daily()
    expect((await last()).failures, 'new entries are sound, and no day has passed').to.deep.equal(
      [],
    )
    await passDay()
    await daily()
    await minutely()
    const { failures } = await last()
    expect(failures.join()).to.match(/every row is as it was written: 1, first shard 0 seq 1 id/)
    const outgoing = new OutgoingSwitch(pool)
    expect(await outgoing.state()).to.include({ paused: true })
    await outgoing.set(false, 'operator', 'resumed too early')
    await minutely()
    expect(await outgoing.state(), 'it is still altered').to.include({ author: 'verify-ledger' })
    expect((await pendingWork(pool, { finality: 1n })).failures).to.deep.equal(failures)
    await admin.query(
      `BEGIN; SET LOCAL session_replication_role = replica;
       UPDATE ledger.journal SET meta = NULL WHERE seq = 1; COMMIT`,
    )
    await daily()
    expect((await last()).failures, 'repaired, and no day has passed').to.deep.equal([])
  })

  it('pauses payments until a person resumes, also while reconciliation is overdue', async () => {
    const { pool, admin } = database
    const outgoing = new OutgoingSwitch(pool)
    const { ledger, owner, payee } = await sampleLedger(pool)
    await admin.query(
      `INSERT INTO hub.reconciliation (wallet, address, from_block, to_block, block_hash,
         block_time, chain_balance, ledger_balance, transfers, matched, pending, exceptions, at)
       SELECT 'spend', '0x' || repeat('1', 40), 1, 1, '0x' || repeat('2', 64), t.at,
         0, 0, 0, 0, 0, 0, t.at FROM (SELECT now() - interval '11 minutes' AS at) t`,
    )
    expect(await outgoing.state()).to.include({ paused: true, author: 'reconciliation' })
    const call = order(owner, payee, 7n)
    await ledger.reserve(call)
    await admin.query(
      `BEGIN; SET LOCAL session_replication_role = replica;
       UPDATE ledger.journal SET endpoint = 9 WHERE id = '${call.call}'; COMMIT`,
    )
    const log = createLog('silent')
    const retained = new RetainedCheckpoints(dataDir)
    await verifyLedgerJob({ pool, signingKey, retained, log })
    await verifyLedgerJob({ pool, signingKey, retained, log })
    expect(await outgoing.state()).to.include({ paused: true, author: 'verify-ledger' })
    const pauses = await pool.query('SELECT FROM hub.outgoing_switch')
    expect(pauses.rowCount, 'one pause').to.equal(1)
  })
})
