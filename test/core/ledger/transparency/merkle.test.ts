import { expect } from 'chai'
import * as fc from 'fast-check'
import {
  EMPTY_ROOT,
  leafHash,
  verifyConsistency,
  verifyInclusion,
} from '../../../../core/crypto/merkle.ts'
import { TILE_WIDTH, tileOf } from '../../../../core/ledger/transparency/tile.ts'
import {
  readConsistencyProof,
  readInclusionProof,
  readRoot,
} from '../../../../core/ledger/transparency/tree.ts'
import { TileBuilder } from '../../../../core/ledger/transparency/tree-builder.ts'
import { buildTiles, MemoryTiles } from './memory-tiles.ts'
import { NaiveTree } from './naive.ts'

/** Vectors of transparency-dev/merkle (`testonly`), from Certificate Transparency. */
const LEAVES = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
].map((text) => Buffer.from(text, 'hex'))

const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]

const N01 = 'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125'
const N23 = '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e'
const N45 = '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a'
const N67 = 'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0'
const N03 = 'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7'
const N47 = '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4'
const L0 = '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'
const L1 = '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7'
const L4 = 'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b'

const INCLUSION: readonly [index: number, size: number, path: readonly string[]][] = [
  [0, 1, []],
  [0, 2, [L1]],
  [1, 2, [L0]],
  [2, 3, [N01]],
  [1, 5, [L0, N23, L4]],
  [0, 8, [L1, N23, N47]],
  [5, 8, [L4, N67, N03]],
]

const CONSISTENCY: readonly [first: number, second: number, proof: readonly string[]][] = [
  [1, 1, []],
  [1, 8, [L1, N23, N47]],
  [2, 5, [N23, L4]],
  [6, 8, [N45, N67, N03]],
]

const fromHex = (text: string) => Buffer.from(text, 'hex')
const toHex = (hashes: readonly Buffer[]) => hashes.map((hash) => hash.toString('hex'))
const headOf = (size: number) => ({ size, root: fromHex(ROOTS[size]!) })
const leavesOf = (count: number) =>
  Array.from({ length: count }, (_, n) => Buffer.from(`leaf ${n}`, 'utf8'))
const treeOf = (count: number) => new NaiveTree(leavesOf(count))
const changeBit = (hash: Buffer, bit: number): Buffer => {
  const changed = Buffer.from(hash)
  changed[bit >> 3]! ^= 1 << (bit & 7)
  return changed
}

describe('the Merkle tree of a transparency log', () => {
  const published = buildTiles(LEAVES, [1, 2, 3, 4, 5, 6, 7, 8])

  it('has the published roots of Certificate Transparency', async () => {
    const roots = await Promise.all(ROOTS.map((_, size) => readRoot(published, size)))
    expect(toHex(roots)).to.deep.equal(ROOTS)
    expect(EMPTY_ROOT.toString('hex')).to.equal(ROOTS[0])
    expect(new TileBuilder().root()).to.deep.equal(EMPTY_ROOT)
  })

  for (const [index, size, path] of INCLUSION) {
    it(`has the published inclusion proof of leaf ${index} of ${size}`, async () => {
      const proof = await readInclusionProof(published, index, size)
      expect(toHex(proof)).to.deep.equal(path)
      const leaf = leafHash(LEAVES[index]!)
      expect(verifyInclusion(headOf(size), { index, leaf, path: proof })).to.equal(true)
    })
  }

  for (const [first, second, expected] of CONSISTENCY) {
    it(`has the published consistency proof from ${first} to ${second}`, async () => {
      const proof = await readConsistencyProof(published, first, second)
      expect(toHex(proof)).to.deep.equal(expected)
      expect(verifyConsistency(headOf(first), headOf(second), proof)).to.equal(true)
    })
  }

  it('equals a naive tree for every size, index and earlier size', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 1_100 }),
        fc.nat(),
        fc.nat(),
        async (count, index, earlier) => {
          const size = 1 + (earlier % count)
          const leaf = index % size
          const naive = treeOf(count)
          const tiles = buildTiles(leavesOf(count), [size])
          const root = naive.root(0, size)
          const path = await readInclusionProof(tiles, leaf, size)
          const proof = await readConsistencyProof(tiles, size, count)
          expect(toHex([await readRoot(tiles, size)])).to.deep.equal(toHex([root]))
          expect(toHex(path)).to.deep.equal(toHex(naive.path(leaf, size)))
          expect(toHex(proof)).to.deep.equal(toHex(naive.proof(size, count)))
          const builder = new TileBuilder()
          for (const data of leavesOf(count)) builder.append(leafHash(data))
          expect(toHex([builder.root()])).to.deep.equal(toHex([naive.root()]))
          const inclusion = { index: leaf, leaf: leafHash(leavesOf(count)[leaf]!), path }
          expect(verifyInclusion({ size, root }, inclusion)).to.equal(true)
          const whole = { size: count, root: naive.root() }
          expect(verifyConsistency({ size, root }, whole, proof)).to.equal(true)
        },
      ),
      { numRuns: 60 },
    )
  })

  it('uses three levels of tiles when 65,536 leaves fill the second', async () => {
    const size = TILE_WIDTH ** 2 + 300
    const naive = treeOf(size)
    const tiles = buildTiles(leavesOf(size), [])
    expect([...tiles.files.keys()]).to.include.members([
      'tile/0/255',
      'tile/0/256',
      'tile/0/257.p/44',
      'tile/1/000',
      'tile/1/001.p/1',
      'tile/2/000.p/1',
    ])
    expect(await readRoot(tiles, size)).to.deep.equal(naive.root())
    const path = await readInclusionProof(tiles, 65_535, size)
    expect(toHex(path)).to.deep.equal(toHex(naive.path(65_535, size)))
  }).timeout(20_000)

  it('reads each tile of a proof once', async () => {
    const size = 70_000
    const tiles = buildTiles(leavesOf(size), [])
    const read: string[] = []
    await readInclusionProof(
      {
        readTiles: async (wanted) => {
          read.push(...wanted.map(({ level, index }) => `${level}/${index}`))
          return tiles.readTiles(wanted)
        },
      },
      12_345,
      size,
    )
    expect(read).to.have.members(['0/48', '1/0', '1/1', '0/273'])
  }).timeout(20_000)
})

describe('the verification of proofs', () => {
  it('rejects an inclusion proof with one bit, the index, the size or a hash changed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 70 }), fc.nat(), fc.nat(255), (size, n, bit) => {
        const naive = treeOf(size)
        const index = n % size
        const head = { size, root: naive.root() }
        const leaf = leafHash(leavesOf(size)[index]!)
        const path = naive.path(index, size)
        const changed = n % path.length
        const forgeries = [
          { head: { ...head, root: changeBit(naive.root(), bit) }, leaf, index, path },
          { head, leaf: changeBit(leaf, bit), index, path },
          { head, leaf, index: (index + 1) % size, path },
          { head, leaf, index: size, path },
          { head, leaf, index: -1, path },
          { head, leaf, index, path: path.with(changed, changeBit(path[changed]!, bit)) },
          { head, leaf, index, path: path.with(changed, path[changed]!.subarray(1)) },
          { head, leaf, index, path: path.slice(1) },
          { head, leaf, index, path: [...path, naive.root()] },
        ]
        for (const { head: of, ...proof } of forgeries) {
          expect(verifyInclusion(of, proof)).to.equal(false)
        }
      }),
    )
  })

  it('rejects a consistency proof with one bit, a size or a hash changed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 70 }), fc.nat(), fc.nat(255), (count, n, bit) => {
        const naive = treeOf(count)
        const size = 1 + (n % (count - 1))
        const first = { size, root: naive.root(0, size) }
        const second = { size: count, root: naive.root() }
        const proof = naive.proof(size, count)
        const changed = n % proof.length
        const forgeries = [
          { first: { ...first, root: changeBit(naive.root(0, size), bit) }, second, proof },
          { first, second: { ...second, root: changeBit(naive.root(), bit) }, proof },
          { first, second, proof: proof.with(changed, changeBit(proof[changed]!, bit)) },
          { first, second, proof: proof.slice(1) },
          { first, second, proof: [...proof, naive.root()] },
          { first: second, second: first, proof },
          { first: { ...first, size: 0 }, second, proof },
        ]
        for (const { first: old, second: of, proof: given } of forgeries) {
          expect(verifyConsistency(old, of, given)).to.equal(false)
        }
      }),
    )
  })

  it('rejects a fork: a later tree in which an earlier leaf differs', () => {
    const leaves = leavesOf(40)
    const fork = new NaiveTree(leaves.with(7, Buffer.from('another')))
    const first = { size: 20, root: new NaiveTree(leaves).root(0, 20) }
    const second = { size: 40, root: fork.root() }
    expect(verifyConsistency(first, second, fork.proof(20, 40))).to.equal(false)
  })

  it('accepts an empty tree as the prefix of a tree only without a proof', () => {
    const second = { size: 3, root: treeOf(3).root() }
    expect(verifyConsistency({ size: 0, root: EMPTY_ROOT }, second, [])).to.equal(true)
    expect(verifyConsistency({ size: 0, root: second.root }, second, [])).to.equal(false)
    expect(verifyConsistency({ size: 0, root: EMPTY_ROOT }, second, [EMPTY_ROOT])).to.equal(false)
  })
})

describe('a tree over tiles', () => {
  it('continues from the last tiles as if it had never stopped', () => {
    fc.assert(
      fc.property(fc.nat(1_100), fc.nat(1_100), (before, after) => {
        const hashes = leavesOf(before + after).map(leafHash)
        const [whole, start] = [new TileBuilder(), new TileBuilder()]
        for (const hash of hashes) whole.append(hash)
        for (const hash of hashes.slice(0, before)) start.append(hash)
        const stored = new MemoryTiles()
        stored.store(start.take())
        const edge = stored.edge(before)
        const rest = new TileBuilder(before, edge)
        for (const hash of hashes.slice(before)) rest.append(hash)
        stored.store(rest.take())
        for (const { level, index, width, hashes: bytes } of whole.take()) {
          const tile = stored.find({ level, index, width })
          expect(tile, `${level}/${index}`).to.deep.equal(bytes)
        }
      }),
      { numRuns: 40 },
    )
  })

  it('refuses to continue from tiles of another width', () => {
    expect(() => new TileBuilder(3, [Buffer.alloc(64)])).to.throw(RangeError, 'must end with 3')
    expect(() => new TileBuilder(3)).to.throw(RangeError, 'must end with 3')
  })

  it('refuses sizes, leaves and tiles that it does not have', async () => {
    const tiles = buildTiles(leavesOf(5), [])
    const refused = [
      () => readRoot(tiles, -1),
      () => readRoot(tiles, 1.5),
      () => readRoot(tiles, 2 ** 48),
      () => readInclusionProof(tiles, 5, 5),
      () => readInclusionProof(tiles, -1, 5),
      () => readConsistencyProof(tiles, 0, 5),
      () => readConsistencyProof(tiles, 6, 5),
      () => readRoot({ readTiles: async () => [Buffer.alloc(4 * 32)] }, 5),
      () => readRoot({ readTiles: async () => [] }, 5),
    ]
    for (const refuse of refused) {
      const error = await refuse().catch((reason: unknown) => reason)
      expect(error, String(refuse)).to.be.instanceOf(RangeError)
    }
  })

  it('ignores the hashes that a tile has gained since', async () => {
    const tiles = buildTiles(leavesOf(9), [])
    const grown = { readTiles: async () => [tiles.files.get('tile/0/000.p/9')!] }
    expect(await readRoot(grown, 5)).to.deep.equal(treeOf(5).root())
    expect(tileOf(5, 0, 0)).to.deep.equal({ level: 0, index: 0, width: 5 })
  })
})
