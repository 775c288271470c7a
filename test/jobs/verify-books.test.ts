import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { signingKeyOf } from '../../core/crypto/signing-key.ts'
import { createLog } from '../../core/log.ts'
import { verifyBooks } from '../../jobs/verify-books.ts'
import { order, smallBooks } from '../core/ledger/world.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'

describe('the job that verifies the books', () => {
  let database: FreshDatabase
  const signingKey = signingKeyOf(generateKeyPairSync('ed25519').privateKey)

  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  it('signs what is sound, and tells every time of what is not, without signing', async () => {
    const said: string[] = []
    const log = createLog('info', { write: (line: string) => void said.push(line) }, [])
    const run = () => verifyBooks({ pool: database.pool, signingKey, log })
    const signed = async (): Promise<number> =>
      (await database.pool.query('SELECT FROM ledger.checkpoint')).rowCount!
    const { books, owner, payee } = await smallBooks(database.pool)
    await run()
    await run() // nothing new: nothing to sign
    expect(await signed()).to.equal(1)
    expect(said).to.deep.equal([])

    const call = order(owner, payee, 7n)
    await books.reserve(call)
    await database.admin.query(
      `BEGIN; SET LOCAL session_replication_role = replica;
       UPDATE ledger.journal SET endpoint = 9 WHERE id = '${call.call}'; COMMIT`,
    )
    await run()
    await run()
    expect(await signed()).to.equal(1)
    expect(said).to.have.length(2)
    expect(said[1]).to.match(/the books are not sound.*verify|every row is as it was written/s)
    expect(said[1]).to.include(call.call)
  })
})
