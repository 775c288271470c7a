import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { operator, withAudit } from '../../../../core/audit/record.ts'
import type { SigningKey } from '../../../../core/crypto/signing-key.ts'
import { parseNote } from '../../../../core/ledger/checkpoint.ts'
import type { Ledger } from '../../../../core/ledger/ledger.ts'
import { RetainedCheckpoints } from '../../../../core/ledger/retained-checkpoints.ts'
import { verifySince } from '../../../../core/ledger/verify/incremental.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { order, sampleLedger } from '../fixture.ts'
import { broken, newSigner, REWRITE, REWRITE_SUMS, tamper } from './tampering.ts'

const SIGNED = 'every checkpoint is signed and matches its seal'

describe('A314 the retained checkpoints', () => {
  const key = newSigner()
  let database: FreshDatabase
  let dataDir: string
  let call: () => ReturnType<Ledger['settle']>

  beforeEach(async () => {
    database = await freshDatabase()
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    const { ledger, owner, payee } = await sampleLedger(database.pool)
    call = async () => {
      const terms = order(owner, payee, 50n)
      await ledger.reserve(terms)
      return ledger.settle(terms, 40n)
    }
  })
  afterEach(async () => {
    await database.drop()
    await rm(dataDir, { recursive: true, force: true })
  })

  const headSeq = async () =>
    (await database.pool.query<{ seq: bigint }>('SELECT seq FROM ledger.head')).rows[0]!.seq
  const since = (signer: SigningKey = key, folder = dataDir) =>
    verifySince(database.pool, { key: signer, retained: new RetainedCheckpoints(folder) })
  const act = (name: string) =>
    withAudit(database.pool, operator('olga'), 'a test', async (_, note) =>
      note({ act: 'key.freeze', subject: name }),
    )
  const storedNotes = async () =>
    (
      await database.pool.query<{ note: string }>(
        'SELECT note FROM ledger.checkpoint ORDER BY shard, seq, audit',
      )
    ).rows.map(({ note }) => note)

  it('refuse a second hash for a number after history was rewritten', async () => {
    await since()
    const first = await headSeq()
    await call()
    await since()
    const before = await storedNotes()
    await tamper(
      database,
      `UPDATE ledger.journal SET payee = 3 WHERE seq > ${first} AND payee > 1000`,
      ...REWRITE,
      `DELETE FROM ledger.checkpoint WHERE seq > ${first}`,
      ...REWRITE_SUMS,
    )
    const [kept] = (await storedNotes()).slice(-1)
    expect(kept, 'the checkpoint before the rewritten part').to.equal(before[0])
    const rewritten = /^shard 0 checkpoint of seq \d+: the seal differs: history was rewritten$/
    for (let run = 0; run < 2; run++) {
      expect(broken(await since())[SIGNED]).to.match(rewritten)
      await call()
    }
    expect(await storedNotes()).to.have.length(1)
  })

  it('detect a history that was cut off, or that another ledger id hides', async () => {
    const first = await headSeq()
    await call()
    await since()
    await tamper(
      database,
      'DELETE FROM ledger.checkpoint',
      'DELETE FROM ledger.verified_balance',
      `DELETE FROM ledger.journal WHERE seq > ${first}`,
      `DELETE FROM ledger.seal WHERE seq_to > ${first}`,
      `UPDATE ledger.head SET seq = ${first}`,
      ...REWRITE,
    )
    expect(broken(await since())[SIGNED]).to.match(/its seal is missing: history was cut off/)
    await tamper(database, 'UPDATE ledger.identity SET id = gen_random_uuid()')
    expect(broken(await since())[SIGNED]).to.match(/^the database names ledger .* before$/)
    expect(await storedNotes()).to.deep.equal([])
  })

  it('trust no key that was added to the database', async () => {
    await since()
    await tamper(database, 'DELETE FROM ledger.checkpoint', 'DELETE FROM ledger.verified_balance')
    await verifySince(database.pool, { key: newSigner() })
    expect(broken(await since())[SIGNED]).to.match(/not signed by a trusted key$/)
  })

  it('accept a rotated key, and checkpoints of another process', async () => {
    const other = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    const next = newSigner()
    try {
      for (const [signer, folder] of [
        [key, dataDir],
        [key, other],
        [next, dataDir],
        [next, other],
        [next, dataDir],
      ] as const) {
        await call()
        expect(broken(await since(signer, folder))).to.deep.equal({})
      }
    } finally {
      await rm(other, { recursive: true, force: true })
    }
  })

  it('restore a checkpoint that was signed and not stored because the process died', async () => {
    await since()
    await call()
    const retained = new RetainedCheckpoints(dataDir)
    const before = await storedNotes()
    await since()
    const signed = (await storedNotes()).at(-1)!
    await tamper(
      database,
      `DELETE FROM ledger.checkpoint WHERE seq = ${parseNote(signed)!.seq}`,
      ...REWRITE_SUMS,
    )
    await rm(dataDir, { recursive: true })
    await retained.retain(before[0]!)
    await retained.prepare(signed)
    expect(broken(await since())).to.deep.equal({})
    expect(await storedNotes()).to.deep.equal([before[0], signed])
  })

  it('restore a deleted checkpoint and report it once', async () => {
    await since()
    const first = await headSeq()
    await call()
    await since()
    const before = await storedNotes()
    const last = `DELETE FROM ledger.checkpoint WHERE seq > ${first}`
    await tamper(database, last, ...REWRITE_SUMS)
    const deleted = /^shard 0 checkpoint of seq \d+: it was deleted from the database; it is back$/
    expect(broken(await since())[SIGNED]).to.match(deleted)
    expect(await storedNotes()).to.deep.equal(before)
    expect(broken(await since())).to.deep.equal({})
  })

  it('cover the audit log, also when no entry was posted', async () => {
    await act('one')
    await act('two')
    await since()
    await act('three')
    await since()
    expect(parseNote((await storedNotes()).at(-1)!)!.audit).to.include({ lines: 3n })
    expect((await since()).shards[0]).not.to.have.property('checkpoint')
    const rehash = [
      `UPDATE hub.audit SET reason = 'another' WHERE seq = 2`,
      `DO $$ DECLARE l hub.audit; last bytea; BEGIN
         FOR l IN SELECT * FROM hub.audit ORDER BY seq LOOP
           l.prev := coalesce(last, l.prev);
           last := hub.audit_hash(l);
           UPDATE hub.audit SET prev = l.prev, hash = last WHERE seq = l.seq;
         END LOOP; END $$`,
    ]
    await tamper(database, ...rehash)
    await act('four')
    const changed =
      /^shard 0 checkpoint of seq \d+: line \d of the audit log was changed or removed$/
    expect(broken(await since())[SIGNED]).to.match(changed)
    await tamper(database, 'DELETE FROM ledger.checkpoint', 'DELETE FROM ledger.verified_balance')
    expect(broken(await since())[SIGNED], 'without its checkpoints').to.match(changed)
  })
})
