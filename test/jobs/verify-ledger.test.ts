import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { signingKeyOf } from '../../core/crypto/signing-key.ts'
import { createLog } from '../../core/log.ts'
import { verifyLedgerJob } from '../../jobs/verify-ledger.ts'
import { order, sampleLedger } from '../core/ledger/fixture.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'

describe('the ledger verification job', () => {
  let database: FreshDatabase
  const signingKey = signingKeyOf(generateKeyPairSync('ed25519').privateKey)

  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  it('signs a valid ledger; logs an error and does not sign an invalid one', async () => {
    const lines: string[] = []
    const log = createLog('info', { write: (line: string) => void lines.push(line) }, [])
    const run = () => verifyLedgerJob({ pool: database.pool, signingKey, log })
    const countCheckpoints = async (): Promise<number> =>
      (await database.pool.query('SELECT FROM ledger.checkpoint')).rowCount!
    const { ledger, owner, payee } = await sampleLedger(database.pool)
    await run()
    await run() // nothing new: nothing to sign
    expect(await countCheckpoints()).to.equal(1)
    expect(lines).to.deep.equal([])

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
  })
})
