import { expect } from 'chai'
import { exportCheckpoints } from '../../../../core/ledger/checkpoint.ts'
import type { Ledger } from '../../../../core/ledger/ledger.ts'
import {
  type IncrementalVerification,
  verifySince,
} from '../../../../core/ledger/verify/incremental.ts'
import { verifyLedger } from '../../../../core/ledger/verify.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { order, smallBooks } from '../world.ts'
import { broken, newSigner, pinned, REWRITE, REWRITE_SUMS, tamper } from './tampering.ts'

const SIGNED = 'every checkpoint is signed and matches its seal'

/** Somebody who can change every row, and makes all that follows from it fit again. */
describe('a rewritten history', () => {
  const key = newSigner()
  let database: FreshDatabase
  let call: () => ReturnType<Ledger['settle']>

  beforeEach(async () => {
    database = await freshDatabase()
    const { books, owner, payee } = await smallBooks(database.pool)
    call = async () => {
      const terms = order(owner, payee, 50n)
      await books.reserve(terms)
      return books.settle(terms, 40n)
    }
  })
  afterEach(() => database.drop())

  const since = (options = {}): Promise<IncrementalVerification> =>
    verifySince(database.pool, { key, ...options })

  async function notes(): Promise<string> {
    let text = ''
    for await (const note of exportCheckpoints(database.pool)) text += note
    return text
  }

  it('is seen, since its seals are not those that were signed', async () => {
    await since()
    await call()
    const kept = await notes()
    const raise = 'UPDATE ledger.journal SET payee = 3 WHERE seq > 1 AND payee > 1000'
    await tamper(database, raise, ...REWRITE, ...REWRITE_SUMS)
    const rewritten = /^shard 0 checkpoint of seq \d+: the seal is another one/
    expect(broken(await since())[SIGNED]).to.match(rewritten)
    expect(broken(await verifyLedger(database.pool))[SIGNED]).to.match(rewritten)

    // Without the checkpoints nothing is left to be seen, unless somebody kept them.
    await tamper(database, 'DELETE FROM ledger.checkpoint', 'DELETE FROM ledger.verified_balance')
    expect(broken(await verifyLedger(database.pool))).to.deep.equal({})
    expect(broken(await verifyLedger(database.pool, { checkpoints: kept }))[SIGNED]).to.match(
      rewritten,
    )
    expect(broken(await since({ checkpoints: kept }))[SIGNED]).to.match(rewritten)
  })

  it('is not believed for checkpoints that the forger signed, with pinned keys', async () => {
    await since()
    await tamper(
      database,
      'UPDATE ledger.journal SET payee = 3 WHERE seq > 1 AND payee > 1000',
      ...REWRITE,
      'DELETE FROM ledger.checkpoint',
      'DELETE FROM ledger.verified_balance',
    )
    expect(broken(await verifySince(database.pool, { key: newSigner() }))).to.deep.equal({})
    expect(broken(await verifyLedger(database.pool))).to.deep.equal({})
    const keys = [pinned(key)]
    const forged = /^shard 0 checkpoint of seq \d+: not signed by a trusted key/
    expect(broken(await verifyLedger(database.pool, { keys }))[SIGNED]).to.match(forged)
    expect(broken(await since({ keys }))[SIGNED]).to.match(forged)
  })

  it('is told from a change of the key, and its checkpoints from foreign ones', async () => {
    await since()
    await call()
    const next = newSigner()
    expect((await verifySince(database.pool, { key: next })).shards[0]).to.have.property(
      'checkpoint',
    )
    expect(broken(await verifyLedger(database.pool))).to.deep.equal({})
    const [kept] = (await notes()).split(/(?=agenthub-ledger)/)
    await tamper(database, 'UPDATE ledger.identity SET id = gen_random_uuid()')
    expect(broken(await since({ checkpoints: kept }))[SIGNED]).to.match(/: of another ledger$/)
  })
})
