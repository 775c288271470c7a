import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { Keyring } from '../../../../core/crypto/signed-note.ts'
import { RetainedCheckpoints } from '../../../../core/ledger/retained-checkpoints.ts'
import { extendTrees } from '../../../../core/ledger/transparency/extend-trees.ts'
import { headsOrigin, parseHeadsNote } from '../../../../core/ledger/transparency/heads-note.ts'
import { findSignedTree, HEADS } from '../../../../core/ledger/transparency/signed-tree.ts'
import { StoredTree } from '../../../../core/ledger/transparency/stored-tree.ts'
import { readConsistencyProof } from '../../../../core/ledger/transparency/tree.ts'
import { readLedgerId } from '../../../../core/ledger/verify/checkpoints.ts'
import { verifySince } from '../../../../core/ledger/verify/incremental.ts'
import { SIGNED_HEADS } from '../../../../core/ledger/verify/sign-heads.ts'
import { trustRetained } from '../../../../core/ledger/verify/trust-retained.ts'
import { verifyLedger } from '../../../../core/ledger/verify.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { postRandomEntries } from '../history/random-ledger.ts'
import { broken, newSigner, pinned, tamper } from '../verify/tampering.ts'
import { NaiveTree } from './naive.ts'

const TREE = 'the Merkle tree is that of the journal, with the signed roots'

describe('the tree of checkpoints', () => {
  const key = newSigner()
  let database: FreshDatabase
  let dataDir: string
  let retained: RetainedCheckpoints

  beforeEach(async () => {
    database = await freshDatabase()
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-heads-'))
    retained = new RetainedCheckpoints(dataDir)
  })
  afterEach(async () => {
    await database.drop()
    await rm(dataDir, { recursive: true })
  })

  const sign = () => verifySince(database.pool, { key, retained })
  async function post(seed: number): Promise<void> {
    await postRandomEntries(database.pool, seed, { rounds: 20, shards: 2 })
    await extendTrees(database.pool)
    expect(broken(await sign())).to.deep.equal({})
  }
  const newest = async () => parseHeadsNote((await findSignedTree(database.pool, HEADS))!.note)!
  const verify = async () => broken(await verifyLedger(database.pool, { keys: [pinned(key)] }))
  async function leaves(): Promise<readonly { shard: number; note: string }[]> {
    const { rows } = await database.pool.query<{ shard: number; note: string }>(
      'SELECT shard, note FROM ledger.signed_head ORDER BY index',
    )
    return rows
  }

  it('has a signed root over the checkpoints of all shards, cut by cut', async () => {
    for (const seed of [1, 2, 3]) await post(seed)
    const all = await leaves()
    expect(all.map(({ shard }) => shard)).to.deep.equal([0, 1, 0, 1, 0, 1])
    const note = await newest()
    const ledger = await readLedgerId(database.pool)
    expect(note).to.include({ size: 6, ledger })
    expect(new Keyring([pinned(key)]).hasSigned(note, headsOrigin(ledger))).to.equal(true)
    expect(new Keyring([pinned(newSigner())]).hasSigned(note, headsOrigin(ledger))).to.equal(false)
    const tree = new NaiveTree(all.map((leaf) => Buffer.from(leaf.note)))
    expect(note.root).to.deep.equal(tree.root())
    const proof = await readConsistencyProof(new StoredTree(database.pool, HEADS), 3, 6)
    expect(proof).to.deep.equal(tree.proof(3, 6))
    expect(await verify()).to.deep.equal({})
  })

  it('stays as it is while no shard has a new checkpoint', async () => {
    await post(1)
    const before = await newest()
    await sign()
    expect(await newest()).to.deep.equal(before)
    expect(await leaves()).to.have.length(2)
  })

  it('is compared with its checkpoints by verification: removed, reordered, replaced', async () => {
    await post(1)
    await post(2)
    const move = (from: number, to: number): string =>
      `UPDATE ledger.signed_head SET index = ${to} WHERE index = ${from}`
    await tamper(database, move(2, 10))
    expect((await verify())[TREE]).to.equal('heads: the checkpoint of leaf 2 is missing')
    await tamper(database, move(1, 2), move(10, 1))
    expect((await verify())[TREE]).to.match(/^heads /)
    await tamper(database, move(2, 10), move(1, 2), move(10, 1))
    expect(await verify()).to.deep.equal({})
    const changed = `SET note = note || E'— a AAAA\\n' WHERE shard = 1`
    await tamper(database, `UPDATE ledger.checkpoint ${changed}`)
    expect((await verify())[SIGNED_HEADS]).to.equal('leaf 1 is not a checkpoint of shard 1')
    await tamper(database, `UPDATE ledger.signed_head ${changed}`)
    expect((await verify())[TREE]).to.equal('heads checkpoint of seq 2: it signs another root')
    expect((await verify())[SIGNED_HEADS], 'of the same notes').to.equal(undefined)
  })

  it('is not signed if its root no longer matches the retained one', async () => {
    await post(1)
    const ledger = await readLedgerId(database.pool)
    const kept = (await retained.readHeads(ledger))!
    const root = (await newest()).root
    await tamper(
      database,
      `UPDATE ledger.tile SET hashes = decode(repeat('ab', 64), 'hex') WHERE shard = ${HEADS}`,
      'DELETE FROM ledger.heads_checkpoint',
    )
    const result = broken(await sign())
    expect(result[SIGNED_HEADS]).to.equal('checkpoint of 2 leaves: the tree has another root')
    expect(await retained.readHeads(ledger), 'unchanged').to.equal(kept)
    expect(parseHeadsNote(kept)!.root).to.deep.equal(root)
    expect(await findSignedTree(database.pool, HEADS), 'nothing signed').to.equal(undefined)
    const trust = await trustRetained(database.pool, retained)
    const full = broken(await verifyLedger(database.pool, trust))
    expect(full[TREE]).to.match(/^heads seq 1: the stored tile differs/)
  })

  it('is not signed if it was cut off', async () => {
    await post(1)
    await post(2)
    await tamper(
      database,
      `DELETE FROM ledger.tile WHERE shard = ${HEADS}`,
      `DELETE FROM ledger.tree WHERE shard = ${HEADS}`,
      'DELETE FROM ledger.signed_head',
      'DELETE FROM ledger.heads_checkpoint',
    )
    expect(broken(await sign())[SIGNED_HEADS]).to.equal(
      'checkpoint of 4 leaves: the tree has only 2',
    )
    const trust = await trustRetained(database.pool, retained)
    expect(broken(await verifyLedger(database.pool, trust))[TREE]).to.include('journal ends before')
  })

  it('is signed again by the next run if the hub ended before the root was stored', async () => {
    await post(1)
    await tamper(database, 'DELETE FROM ledger.heads_checkpoint')
    expect(broken(await sign())).to.deep.equal({})
    expect(await newest()).to.include({ size: 2 })
    expect(await verify()).to.deep.equal({})
  })

  it('refuses a signed root that a trusted key did not sign', async () => {
    await post(1)
    await tamper(
      database,
      `UPDATE ledger.heads_checkpoint SET note = regexp_replace(note, 'at 2', 'at 3')`,
    )
    expect((await verify())[SIGNED_HEADS]).to.include('not signed by a trusted key')
    expect(broken(await sign())[SIGNED_HEADS]).to.include('not signed by a trusted key')
  })
})
