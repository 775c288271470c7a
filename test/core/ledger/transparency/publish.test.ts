import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { verifyConsistency } from '../../../../core/crypto/merkle.ts'
import { parseNote } from '../../../../core/ledger/checkpoint.ts'
import { extendTrees } from '../../../../core/ledger/transparency/extend-trees.ts'
import { parseHeadsNote } from '../../../../core/ledger/transparency/heads-note.ts'
import { openLogStore } from '../../../../core/ledger/transparency/log-store.ts'
import { ForkError, publishTrees } from '../../../../core/ledger/transparency/publish.ts'
import { type Tile, tilePath } from '../../../../core/ledger/transparency/tile.ts'
import {
  readConsistencyProof,
  readRoot,
  type TileReader,
} from '../../../../core/ledger/transparency/tree.ts'
import { verifySince } from '../../../../core/ledger/verify/incremental.ts'
import { ledgerCommand } from '../../../../server/commands/ledger/index.ts'
import { openBuckets } from '../../../support/buckets.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { postRandomEntries } from '../history/random-ledger.ts'
import { newSigner } from '../verify/tampering.ts'
import { NaiveTree } from './naive.ts'

describe('the published Merkle trees', () => {
  const key = newSigner()
  let database: FreshDatabase
  let folder: string

  beforeEach(async () => {
    database = await freshDatabase()
    folder = await mkdtemp(join(tmpdir(), 'agenthub-log-'))
  })
  afterEach(async () => {
    await database.drop()
    await rm(folder, { recursive: true })
  })

  /** Posts entries, builds the trees and signs them. */
  async function post(seed: number): Promise<void> {
    await postRandomEntries(database.pool, seed, { rounds: 120, shards: 2 })
    await extendTrees(database.pool)
    await verifySince(database.pool, { key })
  }

  async function publish(...args: string[]): Promise<readonly [code: number, output: string]> {
    let output = ''
    const write = (text: string): void => void (output += text)
    const command = ['publish', folder, ...args]
    const code = await ledgerCommand(async () => database.pool, command, write, write)
    return [code, output]
  }

  /** Reads tiles from the files, as any client of tlog-tiles does. */
  const files = (shard: number): TileReader => ({
    readTiles: (tiles: readonly Tile[]) =>
      Promise.all(tiles.map((tile) => readFile(join(folder, String(shard), tilePath(tile))))),
  })
  const noteOf = async (shard: number) =>
    parseNote(await readFile(join(folder, String(shard), 'checkpoint'), 'utf8'))!

  /** Reads the leaves of an entry bundle. */
  function bundleOf(bytes: Buffer): string[] {
    const leaves: string[] = []
    for (let at = 0; at < bytes.length; ) {
      const end = at + 2 + bytes.readUInt16BE(at)
      leaves.push(bytes.toString('utf8', at + 2, end))
      at = end
    }
    return leaves
  }

  async function naive(shard: number, size: number): Promise<NaiveTree> {
    const { rows } = await database.pool.query<{ leaf: Buffer }>(
      'SELECT leaf FROM ledger.journal WHERE shard = $1 AND seq <= $2 ORDER BY seq',
      [shard, size],
    )
    return new NaiveTree(rows.map(({ leaf }) => leaf))
  }

  it('have in their files alone the signed root of all entries, and its consistency', async () => {
    await post(1)
    const [code, output] = await publish()
    expect(code, output).to.equal(0)
    const first = await noteOf(0)
    const full = join(folder, '0', tilePath({ level: 0, index: 0, width: 256 }))
    const { mtimeMs } = await stat(full)
    await post(2)
    expect((await publish('--json'))[0]).to.equal(0)
    for (const shard of [0, 1]) {
      const { seq, root } = await noteOf(shard)
      const size = Number(seq)
      expect(size).to.be.above(256)
      const published = await readRoot(files(shard), size)
      expect(published).to.deep.equal(root)
      expect(published).to.deep.equal((await naive(shard, size)).root())
    }
    const second = await noteOf(0)
    const heads = [first, second].map(({ seq, root }) => ({ size: Number(seq), root: root! }))
    const proof = await readConsistencyProof(files(0), heads[0]!.size, heads[1]!.size)
    expect(heads[1]!.size).to.be.above(heads[0]!.size)
    expect(verifyConsistency(heads[0]!, heads[1]!, proof)).to.equal(true)
    expect((await stat(full)).mtimeMs, 'a full tile is written once').to.equal(mtimeMs)
    const signed = parseHeadsNote(await readFile(join(folder, 'heads', 'checkpoint'), 'utf8'))!
    const leaves = bundleOf(await readFile(join(folder, 'heads', 'tile', 'entries', '000.p', '4')))
    expect(leaves).to.have.length(signed.size)
    expect(leaves.at(-2)).to.equal(second.note)
    const tree = new NaiveTree(leaves.map((leaf) => Buffer.from(leaf)))
    expect(tree.root()).to.deep.equal(signed.root)
    const names = await readdir(folder, { recursive: true })
    expect(names.filter((name) => name.endsWith('.part'))).to.deep.equal([])
  })

  it('are the same files in a bucket, which is not continued by a fork either', async () => {
    await post(1)
    await publish()
    await using buckets = await openBuckets()
    const credentials = { accessKeyId: 'id', secretAccessKey: 'secret' }
    const store = await openLogStore('s3://log/hub/', {
      endpoint: buckets.endpoint,
      client: { region: 'eu-central-1', credentials },
    })
    await publishTrees(database.pool, store)
    const names = (await readdir(folder, { recursive: true, withFileTypes: true }))
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name).slice(folder.length + 1))
    expect([...buckets.objects.keys()].sort()).to.deep.equal(
      names.map((name) => `/log/hub/${name}`).sort(),
    )
    for (const name of names) {
      const published = buckets.objects.get(`/log/hub/${name}`)
      expect(published, name).to.deep.equal(await readFile(join(folder, name)))
    }
    for (const { tiles } of await publishTrees(database.pool, store)) expect(tiles).to.equal(0)
    const note = buckets.objects.get('/log/hub/heads/checkpoint')!.toString()
    const forged = note.replace(/\n[^\n]{43}=\n/, `\n${Buffer.alloc(32).toString('base64')}\n`)
    buckets.objects.set('/log/hub/heads/checkpoint', Buffer.from(forged))
    await post(2)
    const before = new Map(buckets.objects)
    const refused = await publishTrees(database.pool, store).catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(ForkError)
    expect(String(refused)).to.include('for all shards has another root')
    expect(buckets.objects, 'nothing is written').to.deep.equal(before)
    store.close()
  })

  it('are written again only if something was added', async () => {
    await post(1)
    await publish()
    const [code, output] = await publish('--json')
    expect(code).to.equal(0)
    for (const { tiles } of JSON.parse(output).trees) expect(tiles).to.equal(0)
  })

  it('A299 are not continued by a journal that was rewritten or set back', async () => {
    await post(1)
    await publish()
    const place = join(folder, '0', 'checkpoint')
    const note = await readFile(place, 'utf8')
    const forged = note.replace(/\n[^\n]{43}=\n/, `\n${Buffer.alloc(32).toString('base64')}\n`)
    await writeFile(place, forged)
    expect(await publish()).to.satisfy(
      ([code, output]: readonly [number, string]) => code === 1 && output.includes('another root'),
    )
    expect(await readFile(place, 'utf8')).to.equal(forged)
    const { seq } = parseNote(note)!
    await writeFile(place, note.replace(`\n${seq}\n`, `\n${seq + 1n}\n`))
    expect(await publish()).to.satisfy(
      ([code, output]: readonly [number, string]) => code === 1 && output.includes('newer than'),
    )
    await writeFile(place, 'nonsense')
    expect((await publish())[0]).to.equal(1)
    await writeFile(place, note)
    expect((await publish())[0]).to.equal(0)
  })
})
