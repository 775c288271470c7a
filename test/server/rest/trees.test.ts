import { expect } from 'chai'
import { verifyConsistency, verifyInclusion } from '../../../core/crypto/merkle.ts'
import { parseNote } from '../../../core/ledger/checkpoint.ts'
import { RetainedCheckpoints } from '../../../core/ledger/retained-checkpoints.ts'
import { extendTrees } from '../../../core/ledger/transparency/extend-trees.ts'
import { parseHeadsNote } from '../../../core/ledger/transparency/heads-note.ts'
import { type Tile, tilePath } from '../../../core/ledger/transparency/tile.ts'
import { readRoot } from '../../../core/ledger/transparency/tree.ts'
import { verifySince } from '../../../core/ledger/verify/incremental.ts'
import { postRandomEntries } from '../../core/ledger/history/random-ledger.ts'
import { NaiveTree } from '../../core/ledger/transparency/naive.ts'
import { ask } from '../../support/ask.ts'
import { useHub } from '../../support/suite.ts'

const bytes = (text: unknown): Buffer => Buffer.from(String(text), 'base64')

describe('the served Merkle trees', () => {
  const hub = useHub()
  const get = (path: string) => fetch(`${hub().url}/v1/ledger/trees/${path}`)
  const json = (path: string) => ask(hub().url, `/v1/ledger/trees/${path}`)
  async function post(seed: number): Promise<void> {
    const { pool } = hub().database
    await postRandomEntries(pool, seed, { rounds: 120, shards: 1 })
    await extendTrees(pool)
    const key = hub().hub.secretKeys.signingKey()
    await verifySince(pool, { key, retained: new RetainedCheckpoints(hub().dataDir) })
  }
  async function signed() {
    const note = parseNote(await (await get('0/checkpoint')).text())!
    return { size: Number(note.seq), root: note.root! }
  }

  it('give everyone the signed root, from their tiles alone', async () => {
    expect((await get('0/checkpoint')).status, 'before the first one').to.equal(404)
    await post(1)
    const { size, root } = await signed()
    expect(size).to.be.above(256)
    const paths: string[] = []
    const readTiles = (tiles: readonly Tile[]) =>
      Promise.all(
        tiles.map(async (tile) => {
          paths.push(tilePath(tile))
          return Buffer.from(await (await get(`0/${tilePath(tile)}`)).arrayBuffer())
        }),
      )
    expect(await readRoot({ readTiles }, size)).to.deep.equal(root)
    expect(paths).to.not.be.empty
    const { headers } = await get('0/tile/0/000')
    expect(headers.get('cache-control')).to.equal('public, max-age=31536000, immutable')
    expect(headers.get('content-type')).to.equal('application/octet-stream')
    expect(headers.get('access-control-allow-origin')).to.equal('*')
  })

  it('prove that each later tree begins with the earlier one, and what each has', async () => {
    const first = await signed()
    await post(2)
    const second = await signed()
    expect(second.size).to.be.above(first.size)
    const { body } = await json(`0/consistency?from=${first.size}`)
    expect(body).to.include({ from: first.size, to: second.size })
    const proof = (body['hashes'] as string[]).map(bytes)
    expect(verifyConsistency(first, second, proof)).to.equal(true)
    const { rows } = await hub().database.pool.query<{ leaf: Buffer }>(
      'SELECT leaf FROM ledger.journal WHERE shard = 0 AND seq <= $1 ORDER BY seq',
      [first.size],
    )
    const tree = new NaiveTree(rows.map(({ leaf }) => leaf))
    const response = await json(`0/inclusion?leaf_index=7&size=${first.size}`)
    const path = (response.body['path'] as string[]).map(bytes)
    expect(path).to.deep.equal(tree.path(7, first.size))
    const leaf = new NaiveTree([rows[7]!.leaf]).root()
    expect(verifyInclusion(first, { index: 7, leaf, path })).to.equal(true)
  })

  it('have one tree over the checkpoints of all shards, with its leaves and proofs', async () => {
    const note = parseHeadsNote(await (await get('heads/checkpoint')).text())!
    expect(note.size).to.be.above(1)
    const { body } = await json(`heads/consistency?from=1`)
    const bundle = Buffer.from(
      await (await get(`heads/tile/entries/000.p/${note.size}`)).arrayBuffer(),
    )
    const first = bundle.subarray(2, 2 + bundle.readUInt16BE(0))
    const shard = parseNote(first.toString())!
    expect(shard).to.include({ shard: 0 })
    const leaf = new NaiveTree([first]).root()
    const proof = (body['hashes'] as string[]).map(bytes)
    expect(verifyConsistency({ size: 1, root: leaf }, note, proof)).to.equal(true)
    const response = await json('heads/inclusion?leaf_index=0')
    const path = (response.body['path'] as string[]).map(bytes)
    expect(verifyInclusion(note, { index: 0, leaf, path })).to.equal(true)
    expect((await json('0/tile/entries/000')).status, 'entries of a shard').to.equal(404)
  })

  it('refuse what they do not have', async () => {
    const { size } = await signed()
    const missing = ['99/checkpoint', 'x/checkpoint', '0/tile/0/999', '0/tile/9/000', '0/tile/..']
    for (const path of missing) expect((await json(path)).status, path).to.equal(404)
    const wrong = [
      `consistency?from=${size + 1}`,
      'consistency?from=0',
      'consistency',
      `inclusion?leaf_index=${size}`,
      `inclusion?leaf_index=0&size=${size + 1}`,
    ]
    for (const path of wrong) {
      const { status, body } = await json(`0/${path}`)
      expect([status, body['code']], path).to.deep.equal([422, 'validation_failed'])
    }
  })
})
