import { expect } from 'chai'
import { verifyConsistency } from '../../../../core/crypto/merkle.ts'
import {
  exportCheckpoints,
  type Note,
  parseNote,
  signCheckpoint,
} from '../../../../core/ledger/checkpoint.ts'
import { exportLedger } from '../../../../core/ledger/export/writer.ts'
import type { Ledger } from '../../../../core/ledger/ledger.ts'
import { extendTrees } from '../../../../core/ledger/transparency/extend-trees.ts'
import { StoredTree } from '../../../../core/ledger/transparency/stored-tree.ts'
import { readConsistencyProof } from '../../../../core/ledger/transparency/tree.ts'
import { linesOf, verifyExport } from '../../../../core/ledger/verify/export-verifier.ts'
import {
  type IncrementalVerification,
  verifySince,
} from '../../../../core/ledger/verify/incremental.ts'
import { verifyLedger } from '../../../../core/ledger/verify.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { order, sampleLedger } from '../fixture.ts'
import { NaiveTree } from '../transparency/naive.ts'
import {
  broken,
  FORGET_CHECKPOINTS,
  FORGET_HEADS,
  newSigner,
  pinned,
  REWRITE,
  tamper,
} from './tampering.ts'

const TREE = 'the Merkle tree is that of the journal, with the signed roots'
/** Reverses two neighbors, by way of a number that no row has. */
const SWAP = [
  'UPDATE ledger.journal SET seq = -1 WHERE seq = 6',
  'UPDATE ledger.journal SET seq = 6 WHERE seq = 7',
  'UPDATE ledger.journal SET seq = 7 WHERE seq = -1',
]
const FORGET_TREE = ['DELETE FROM ledger.tile', 'DELETE FROM ledger.tree']

describe('the Merkle tree in the verification of the ledger', () => {
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
  const fault = async (trust = {}): Promise<string | undefined> =>
    broken(await verifyLedger(database.pool, trust))[TREE]

  async function notes(): Promise<Note[]> {
    const found: Note[] = []
    for await (const text of exportCheckpoints(database.pool))
      found.push(parseNote(text.trimEnd() + '\n')!)
    return found
  }

  async function naiveRoot(size: bigint): Promise<Buffer> {
    const { rows } = await database.pool.query<{ leaf: Buffer }>(
      'SELECT leaf FROM ledger.journal WHERE shard = 0 AND seq <= $1 ORDER BY seq',
      [size],
    )
    expect(rows).to.have.length(Number(size))
    return new NaiveTree(rows.map(({ leaf }) => leaf)).root()
  }

  it('has its root in every checkpoint, whether or not its tiles are stored yet', async () => {
    await since()
    await extendTrees(database.pool)
    await call()
    await since()
    await call()
    await extendTrees(database.pool)
    await since()
    const signed = await notes()
    expect(signed).to.have.length(3)
    for (const { seq, root, note } of signed) {
      expect(root).to.deep.equal(await naiveRoot(seq))
      expect(note.split('\n')[2]).to.equal(root!.toString('base64'))
    }
    expect(broken(await verifyLedger(database.pool))).to.deep.equal({})
  })

  it('proves that a checkpoint continues an earlier one', async () => {
    await since()
    await call()
    await since()
    await extendTrees(database.pool)
    const [first, second] = (await notes()).map(({ seq, root }) => ({
      size: Number(seq),
      root: root!,
    }))
    const tree = new StoredTree(database.pool, 0)
    const proof = await readConsistencyProof(tree, first!.size, second!.size)
    expect(verifyConsistency(first!, second!, proof)).to.equal(true)
  })

  it('continues after checkpoints without a root, which stay valid', async () => {
    await since()
    const [{ root: _, ...old }] = (await notes()) as [Note]
    const text = signCheckpoint(old, key)
    expect(text).not.to.include('\nseal ')
    await database.admin.query('ALTER TABLE ledger.checkpoint DISABLE TRIGGER append_only')
    await database.admin.query('UPDATE ledger.checkpoint SET note = $1', [text])
    await tamper(database, ...FORGET_HEADS)
    await call()
    expect((await since()).ok).to.equal(true)
    const [before, after] = await notes()
    expect([before!.root, before!.hash]).to.deep.equal([undefined, old.hash])
    expect(after!.root).to.deep.equal(await naiveRoot(after!.seq))
    const checkpoints = `${before!.note}\n${after!.note}`
    const keys = [pinned(key)]
    expect(broken(await verifyLedger(database.pool, { checkpoints, keys }))).to.deep.equal({})
  })

  describe('names (A293)', () => {
    beforeEach(async () => {
      await extendTrees(database.pool)
    })

    it('a row that was changed, even if every hash of the journal was recomputed', async () => {
      const change = 'UPDATE ledger.journal SET payee = 3 WHERE seq = 8'
      await tamper(database, change, ...REWRITE)
      expect(await fault()).to.equal('shard 0 seq 8: the stored tile differs from the journal')
    })

    it('a row that was removed, even if the rows after it were renumbered', async () => {
      const last = 'SELECT max(seq) FROM ledger.journal'
      await tamper(database, `DELETE FROM ledger.journal WHERE seq = 6`)
      expect(await fault()).to.equal('shard 0 has a gap or a malformed leaf after seq 0')
      await tamper(
        database,
        'UPDATE ledger.journal SET seq = seq - 1 WHERE seq > 6',
        `UPDATE ledger.head SET seq = (${last})`,
        ...REWRITE,
      )
      expect(await fault()).to.match(/^shard 0 seq 6: the stored tile differs from the journal$/)
    })

    it('rows that changed places, even if every hash of the journal was recomputed', async () => {
      await tamper(database, ...SWAP, ...REWRITE)
      expect(await fault()).to.equal('shard 0 seq 6: the stored tile differs from the journal')
    })

    it('rows that were cut off at the end', async () => {
      const { rows } = await database.pool.query('SELECT seq::integer FROM ledger.head')
      await tamper(database, `DELETE FROM ledger.journal WHERE seq = ${rows[0].seq}`)
      expect(await fault()).to.equal(
        `shard 0 tree of ${rows[0].seq} entries: the journal ends before`,
      )
    })

    it('a fork: the checkpoint whose root a rebuilt history and its tree do not have', async () => {
      await since()
      const [original] = (await notes()) as [Note]
      const change = 'UPDATE ledger.journal SET payee = 3 WHERE seq > 1 AND payee > 1000'
      await tamper(database, change, ...REWRITE, ...FORGET_CHECKPOINTS, ...FORGET_TREE)
      await extendTrees(database.pool)
      await since()
      expect(broken(await verifyLedger(database.pool)), 'the fork by itself').to.deep.equal({})
      const forked = `shard 0 checkpoint of seq ${original.seq}: it signs another root`
      expect(await fault({ checkpoints: original.note })).to.equal(forked)
    })

    it('tiles that have another root than the one signed last, and signs nothing', async () => {
      await since()
      await call()
      await tamper(
        database,
        String.raw`UPDATE ledger.tile SET hashes = overlay(hashes PLACING '\x00' FROM 70)
          WHERE shard = 0`,
      )
      const { seq } = (await notes())[0]!
      const result = await since()
      expect(broken(result)[TREE]).to.equal(
        `shard 0 checkpoint of seq ${seq}: it signs another root`,
      )
      expect(await notes()).to.have.length(1)
      expect(await fault()).to.equal('shard 0 seq 3: the stored tile differs from the journal')
    })
  })

  it('names in an export the checkpoint that signs another root', async () => {
    await since()
    const [note] = (await notes()) as [Note]
    let text = ''
    for await (const piece of exportLedger(database.pool, 'jsonl')) text += piece
    const lines = () =>
      linesOf(
        (async function* () {
          yield text
        })(),
      )
    const keys = [pinned(key)]
    expect(broken(await verifyExport(lines(), { keys }))).to.deep.equal({})
    const checkpoints = signCheckpoint({ ...note, root: Buffer.alloc(32, 1) }, key)
    const found = broken(await verifyExport(lines(), { keys, checkpoints }))
    expect(found).to.deep.equal({
      [TREE]: `shard 0 checkpoint of seq ${note.seq}: it signs another root`,
    })
  })
})
