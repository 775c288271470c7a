import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { signingKeyOf } from '../../core/crypto/signing-key.ts'
import { RetainedCheckpoints } from '../../core/ledger/retained-checkpoints.ts'
import { readLastVerification } from '../../core/ledger/verify/last-verification.ts'
import { createLog } from '../../core/log.ts'
import { OutgoingSwitch } from '../../core/payments/operations/outgoing-switch.ts'
import { verifyLedgerJob } from '../../jobs/verify-ledger.ts'
import { order, sampleLedger } from '../core/ledger/fixture.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'

describe('the ledger verification job', () => {
  let database: FreshDatabase
  let dataDir: string
  const signingKey = signingKeyOf(generateKeyPairSync('ed25519').privateKey)

  before(async () => {
    database = await freshDatabase()
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
  })
  after(async () => {
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
})
