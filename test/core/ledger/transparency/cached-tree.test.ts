import { expect } from 'chai'
import type { Pool } from 'pg'
import { CachedTree } from '../../../../core/ledger/transparency/cached-tree.ts'
import { extendTrees } from '../../../../core/ledger/transparency/extend-trees.ts'
import { StoredTree } from '../../../../core/ledger/transparency/stored-tree.ts'
import { readInclusionProofs } from '../../../../core/ledger/transparency/tree.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { postRandomEntries } from '../history/random-ledger.ts'
import { NaiveTree } from './naive.ts'

describe('a tree whose shared tiles stay in memory', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  it('gives the proofs of the stored tree, by one query for several, as it grows', async () => {
    let queries = 0
    const query = ((...values: Parameters<Pool['query']>) => {
      queries++
      return database.pool.query(...values)
    }) as Pool['query']
    const tree = new CachedTree({ query }, 0)
    const prove = async (indexes: readonly number[], size: number): Promise<number> => {
      queries = 0
      const { rows } = await database.pool.query<{ leaf: Buffer }>(
        'SELECT leaf FROM ledger.journal WHERE shard = 0 AND seq <= $1 ORDER BY seq',
        [size],
      )
      const naive = new NaiveTree(rows.map(({ leaf }) => leaf))
      const paths = await readInclusionProofs(tree, indexes, size)
      for (const [n, index] of indexes.entries()) {
        expect(paths[n], `leaf ${index} of ${size}`).to.deep.equal(naive.path(index, size))
      }
      return queries
    }
    for (const seed of [1, 2]) {
      await postRandomEntries(database.pool, seed, { rounds: 120, shards: 1 })
      await extendTrees(database.pool)
      const size = await new StoredTree(database.pool, 0).size()
      expect(size).to.be.above(256)
      expect(await prove([0, 3, 200, size - 1], size), 'the first time').to.equal(1)
      expect(await prove([size - 1], size), 'of the right edge').to.be.at.most(1)
      expect(await prove([7, size - 2], size), 'again').to.equal(1)
    }
    expect(await prove([5], 9), 'of an earlier size').to.equal(1)
    expect(await prove([2], 9), 'of the same size again').to.equal(0)
  })
})
