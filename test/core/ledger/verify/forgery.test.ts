import { expect } from 'chai'
import { exportCheckpoints } from '../../../../core/ledger/checkpoint.ts'
import type { Ledger } from '../../../../core/ledger/ledger.ts'
import {
  type IncrementalVerification,
  verifySince,
} from '../../../../core/ledger/verify/incremental.ts'
import { verifyLedger } from '../../../../core/ledger/verify.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { order, sampleLedger } from '../fixture.ts'
import {
  broken,
  FORGET_CHECKPOINTS,
  newSigner,
  pinned,
  REWRITE,
  REWRITE_SUMS,
  tamper,
} from './tampering.ts'

const SIGNED = 'every checkpoint is signed and matches its seal'

/** Forger that can change every row and recompute everything derived from it. */
describe('a rewritten history', () => {
  const key = newSigner()
  let database: FreshDatabase
  let call: () => ReturnType<Ledger['settle']>

  beforeEach(async () => {
    database = await freshDatabase()
    const { ledger, owner, payee } = await sampleLedger(database.pool)
    call = async () => {
      const terms = order(owner, payee, 50n)
      await ledger.reserve(terms)
      return ledger.settle(terms, 40n)
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

  it('is detected because its seals differ from the signed ones', async () => {
    await since()
    await call()
    const stored = await notes()
    const raise = 'UPDATE ledger.journal SET payee = 3 WHERE seq > 1 AND payee > 1000'
    await tamper(database, raise, ...REWRITE, ...REWRITE_SUMS)
    const rewritten = /^shard 0 checkpoint of seq \d+: the seal differs/
    expect(broken(await since())[SIGNED]).to.match(rewritten)
    expect(broken(await verifyLedger(database.pool))[SIGNED]).to.match(rewritten)

    // Without checkpoints the forgery is invisible, unless somebody stored them elsewhere.
    await tamper(database, ...FORGET_CHECKPOINTS)
    expect(broken(await verifyLedger(database.pool))).to.deep.equal({})
    expect(broken(await verifyLedger(database.pool, { checkpoints: stored }))[SIGNED]).to.match(
      rewritten,
    )
    expect(broken(await since({ checkpoints: stored }))[SIGNED]).to.match(rewritten)
  })

  it('is rejected despite forged checkpoints if keys are pinned', async () => {
    await since()
    await tamper(
      database,
      'UPDATE ledger.journal SET payee = 3 WHERE seq > 1 AND payee > 1000',
      ...REWRITE,
      ...FORGET_CHECKPOINTS,
    )
    expect(broken(await verifySince(database.pool, { key: newSigner() }))).to.deep.equal({})
    expect(broken(await verifyLedger(database.pool))).to.deep.equal({})
    const keys = [pinned(key)]
    const forged = /^shard 0 checkpoint of seq \d+: not signed by a trusted key/
    expect(broken(await verifyLedger(database.pool, { keys }))[SIGNED]).to.match(forged)
    expect(broken(await since({ keys }))[SIGNED]).to.match(forged)
  })

  it('is distinguished from a key rotation and from foreign checkpoints', async () => {
    await since()
    await call()
    const next = newSigner()
    expect((await verifySince(database.pool, { key: next })).shards[0]).to.have.property(
      'checkpoint',
    )
    expect(broken(await verifyLedger(database.pool))).to.deep.equal({})
    const [stored] = (await notes()).split(/(?=agenthub-ledger)/)
    await tamper(database, 'UPDATE ledger.identity SET id = gen_random_uuid()')
    expect(broken(await since({ checkpoints: stored }))[SIGNED]).to.match(/: of another ledger$/)
  })
})
