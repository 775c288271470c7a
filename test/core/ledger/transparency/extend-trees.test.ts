import { expect } from 'chai'
import type { Pool, PoolClient } from 'pg'
import { inTransaction } from '../../../../core/db/transaction.ts'
import { extendTrees } from '../../../../core/ledger/transparency/extend-trees.ts'
import { StoredTree } from '../../../../core/ledger/transparency/stored-tree.ts'
import { readInclusionProof, readRoot } from '../../../../core/ledger/transparency/tree.ts'
import { eventually } from '../../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { postRandomEntries } from '../history/random-ledger.ts'
import { tamper } from '../verify/tampering.ts'
import { NaiveTree } from './naive.ts'

const ROWS = 'SELECT shard, level, index, hashes FROM ledger.tile ORDER BY shard, level, index'

describe('the Merkle trees of the journal', () => {
  let database: FreshDatabase

  beforeEach(async () => {
    database = await freshDatabase()
  })
  afterEach(() => database.drop())

  const post = (rounds: number, seed = 1): Promise<unknown> =>
    postRandomEntries(database.pool, seed, { rounds, shards: 2 })

  /** Computes the tree of a shard from its rows, with an independent implementation. */
  async function naive(shard: number): Promise<NaiveTree & { readonly size: number }> {
    const { rows } = await database.pool.query<{ leaf: Buffer }>(
      'SELECT leaf FROM ledger.journal WHERE shard = $1 ORDER BY seq',
      [shard],
    )
    return Object.assign(new NaiveTree(rows.map(({ leaf }) => leaf)), { size: rows.length })
  }

  async function expectTrees(): Promise<void> {
    for (const shard of [0, 1]) {
      const expected = await naive(shard)
      const tree = new StoredTree(database.pool, shard)
      expect(expected.size).to.be.above(30)
      expect(await tree.size()).to.equal(expected.size)
      expect(await readRoot(tree, expected.size)).to.deep.equal(expected.root())
      const proof = await readInclusionProof(tree, 20, expected.size)
      expect(proof).to.deep.equal(expected.path(20, expected.size))
    }
  }

  it('are built from the entries of a database that had none', async () => {
    await post(120)
    expect(await extendTrees(database.pool)).to.be.above(512)
    await expectTrees()
    const { rows } = await database.pool.query(`SELECT DISTINCT level FROM ledger.tile ORDER BY 1`)
    expect(rows).to.deep.equal([{ level: 0 }, { level: 1 }])
    expect(await extendTrees(database.pool), 'again').to.equal(0)
  })

  it('have the same tiles whatever the pages were', async () => {
    await post(60)
    await extendTrees(database.pool)
    const { rows: atOnce } = await database.pool.query(ROWS)
    await tamper(database, 'DELETE FROM ledger.tile', 'DELETE FROM ledger.tree')
    await extendTrees(database.pool, undefined, 7)
    expect((await database.pool.query(ROWS)).rows).to.deep.equal(atOnce)
  })

  it('grow by later entries, page by page, and stop on request', async () => {
    await post(40)
    await extendTrees(database.pool, undefined, 16)
    await post(40, 2)
    expect(await extendTrees(database.pool, AbortSignal.abort())).to.equal(0)
    await extendTrees(database.pool, undefined, 16)
    await expectTrees()
  })

  it('are extended once by several processes at the same time', async () => {
    await post(60)
    const added = await Promise.all(
      [1, 2, 3, 4].map(() => extendTrees(database.pool, undefined, 9)),
    )
    const { rows } = await database.pool.query('SELECT sum(seq)::integer AS seq FROM ledger.head')
    await extendTrees(database.pool)
    expect(added.reduce((sum, count) => sum + count)).to.be.at.most(rows[0].seq)
    await expectTrees()
  })

  it('are extended by what was posted before, so that posting cannot keep a run busy', async () => {
    await post(60)
    let pages = 0
    const connect = async (): Promise<PoolClient> => {
      if (++pages > 10) throw new Error('the run goes on')
      await post(3, pages)
      return database.pool.connect()
    }
    const query = database.pool.query.bind(database.pool)
    const pool = { connect, query } as unknown as Pool
    expect(await extendTrees(pool)).to.be.above(60)
    expect(pages, 'one page of each shard').to.equal(2)
    await extendTrees(database.pool)
    await expectTrees()
  })

  it('continue where they were after a process was killed in the middle of a page', async () => {
    await post(60)
    const stopping = new AbortController()
    const kill = async (client: PoolClient): Promise<void> => {
      await client.query('LOCK TABLE ledger.tile IN SHARE MODE') // the page waits here
      const interrupted = extendTrees(database.pool, stopping.signal, 9).catch(() => 'interrupted')
      for (let killed = 0; killed === 0; ) {
        const { rowCount } = await database.admin.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
           AND wait_event_type = 'Lock' AND query LIKE '%extend_tree%' AND pid <> pg_backend_pid()`,
        )
        killed = rowCount ?? 0
      }
      stopping.abort()
      expect(await interrupted).to.equal('interrupted')
    }
    await inTransaction(database.admin, kill)
    await eventually(async () => {
      const { rowCount } = await database.admin.query(
        `SELECT FROM pg_stat_activity
         WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()`,
      )
      return rowCount === 0 // the page of the other shard is stored
    })
    const trees = [0, 1].map((shard) => new StoredTree(database.pool, shard).size())
    expect(await Promise.all(trees), 'the page was lost').to.include(0)
    await extendTrees(database.pool)
    await expectTrees()
  })

  it('are not extended over a gap in the journal', async () => {
    await post(40)
    await tamper(database, 'DELETE FROM ledger.journal WHERE shard = 0 AND seq = 5')
    const error = await extendTrees(database.pool).catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(RangeError)
    expect(String(error)).to.include('shard 0 has a gap or a malformed leaf after seq 0')
  })

  describe('in the database', () => {
    const extend = (
      [from, to]: readonly [number, number],
      tiles: readonly { level: number; index: number; hashes: Buffer }[],
    ): Promise<unknown> =>
      database.pool
        .query('SELECT ledger.extend_tree(0::smallint, $1, $2, $3, $4, $5) AS done', [
          from,
          to,
          tiles.map(({ level }) => level),
          tiles.map(({ index }) => index),
          tiles.map(({ hashes }) => hashes),
        ])
        .then(
          ({ rows }) => rows[0].done,
          (error: Error) => error.message,
        )
    const tile = (hashes: number, level = 0, index = 0) => ({
      level,
      index,
      hashes: Buffer.alloc(32 * hashes, 7),
    })

    it('accept only tiles that the new size requires, from the size they have', async () => {
      await post(60)
      const wrong = /^the tiles of shard 0 are not those of a tree of 3 entries$/
      expect(await extend([0, 3], [tile(2)])).to.match(wrong)
      expect(await extend([0, 3], [tile(4)])).to.match(wrong)
      expect(await extend([0, 3], [])).to.match(wrong)
      expect(await extend([0, 0], [])).to.match(/^shard 0 has no entries 1 to 0$/)
      expect(await extend([0, 99_999], [tile(3)])).to.match(/^shard 0 has no entries 1 to 99999$/)
      expect(await extend([0, 3], [tile(3)])).to.equal(true)
      expect(await extend([0, 4], [tile(4)])).to.equal(false)
      expect(await extend([3, 4], [{ ...tile(4), hashes: Buffer.alloc(128, 8) }])).to.match(
        /^the ledger is append-only: UPDATE on tile refused$/,
      )
      expect(await extend([3, 4], [tile(4)])).to.equal(true)
    })
  })

  it('are refused if a stored tile is too short for the size of its tree', async () => {
    await post(40)
    await extendTrees(database.pool)
    await tamper(database, `UPDATE ledger.tile SET hashes = substring(hashes FOR 64)`)
    await post(2, 3)
    const error = await extendTrees(database.pool).catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(RangeError)
    expect(String(error)).to.match(/level 0 of a tree of \d+ leaves must end with \d+$/)
  })
})
