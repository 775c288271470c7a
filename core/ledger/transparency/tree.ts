import { EMPTY_ROOT, HASH_BYTES, nodeHash, quotient } from '../../crypto/merkle.ts'
import { subtreesOf } from './subtrees.ts'
import { TILE_HEIGHT, TILE_WIDTH, type Tile, TREE_SIZE_MAX, tileOf } from './tile.ts'

/** Reads the tiles of one tree. */
export interface TileReader {
  /**
   * Returns the hashes of each tile, in the order given. A tile may have grown since: hashes after
   * its width are ignored.
   */
  readonly readTiles: (tiles: readonly Tile[]) => Promise<readonly Buffer[]>
}

/** Leaves `begin` to `end` − 1, a subtree of RFC 6962. */
interface Range {
  readonly begin: number
  readonly end: number
}

/** Perfect subtree: number `index` of those with 2 ** `level` leaves. */
interface Node {
  readonly level: number
  readonly index: number
}

/**
 * Computes the root of the tree that the first `size` leaves form.
 * @throws RangeError if a tile is missing or too short
 */
export async function readRoot(reader: TileReader, size: number): Promise<Buffer> {
  assertSize(size)
  if (size === 0) return EMPTY_ROOT
  const [root] = await readRanges(reader, size, [{ begin: 0, end: size }])
  return root!
}

/**
 * Computes the inclusion proof of a leaf in the tree of the first `size` leaves (RFC 6962, section
 * 2.1.1).
 * @throws RangeError if the tree has no such leaf, or a tile is missing or too short
 */
export async function readInclusionProof(
  reader: TileReader,
  index: number,
  size: number,
): Promise<readonly Buffer[]> {
  const [path] = await readInclusionProofs(reader, [index], size)
  return path!
}

/**
 * Computes the inclusion proofs of several leaves; reads the tiles of all at once.
 * @throws RangeError as `readInclusionProof`
 */
export async function readInclusionProofs(
  reader: TileReader,
  indexes: readonly number[],
  size: number,
): Promise<readonly (readonly Buffer[])[]> {
  assertSize(size)
  const paths = indexes.map((index) => inclusionPath(index, size))
  const hashes = await readRanges(reader, size, paths.flat())
  let end = 0
  return paths.map((path) => {
    end += path.length
    return hashes.slice(end - path.length, end)
  })
}

function inclusionPath(index: number, size: number): readonly Range[] {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) {
    throw new RangeError(`no leaf ${index} in a tree of ${size}`)
  }
  const path: Range[] = []
  let begin = 0
  let end = size
  while (end - begin > 1) {
    const middle = splitOf(begin, end)
    if (index < middle) {
      path.push({ begin: middle, end })
      end = middle
    } else {
      path.push({ begin, end: middle })
      begin = middle
    }
  }
  return path.reverse()
}

/**
 * Computes the proof that the tree of the first `first` leaves is a prefix of the tree of the first
 * `second` (RFC 6962, section 2.1.2).
 * @throws RangeError if the first tree is empty or the greater, or a tile is missing or too short
 */
export async function readConsistencyProof(
  reader: TileReader,
  first: number,
  second: number,
): Promise<readonly Buffer[]> {
  assertSize(second)
  if (!Number.isSafeInteger(first) || first < 1 || first > second) {
    throw new RangeError(`no proof from a tree of ${first} to one of ${second}`)
  }
  const path: Range[] = []
  let begin = 0
  let end = second
  while (end !== first) {
    const middle = splitOf(begin, end)
    if (first <= middle) {
      path.push({ begin: middle, end })
      end = middle
    } else {
      path.push({ begin, end: middle })
      begin = middle
    }
  }
  if (begin > 0) path.push({ begin, end })
  return readRanges(reader, second, path.reverse())
}

function assertSize(size: number): void {
  if (Number.isSafeInteger(size) && size >= 0 && size <= TREE_SIZE_MAX) return
  throw new RangeError(`not a size of a tree: ${size}`)
}

/** End of the left subtree: the greatest power of two below the number of leaves. */
function splitOf(begin: number, end: number): number {
  let width = 1
  while (2 * width < end - begin) width *= 2
  return begin + width
}

/** Hashes of subtrees of a tree of `size` leaves; reads each tile once. */
async function readRanges(
  reader: TileReader,
  size: number,
  ranges: readonly Range[],
): Promise<readonly Buffer[]> {
  const parts = ranges.map(perfectParts)
  const tiles = new Map(parts.flat().map((node) => [tileKey(node), tileHolding(node, size)]))
  const contents = await reader.readTiles([...tiles.values()])
  const hashes = new Map<string, Buffer>()
  for (const [n, [key, tile]] of [...tiles].entries()) {
    hashes.set(key, checkedTile(tile, contents[n]))
  }
  return parts.map((nodes) =>
    nodes
      .map((node) => nodeIn(hashes.get(tileKey(node))!, node))
      .reduceRight((right, left) => nodeHash(left, right)),
  )
}

/** Perfect subtrees of a range, from the largest to the smallest. */
function perfectParts({ begin, end }: Range): readonly Node[] {
  const nodes: Node[] = []
  for (let at = begin; at < end; ) {
    let level = 0
    while (2 ** (level + 1) <= end - at) level++
    nodes.push({ level, index: at / 2 ** level })
    at += 2 ** level
  }
  return nodes
}

/** Position of a perfect subtree in its tile: its first hash and the number of them. */
function placeOf({ level, index }: Node) {
  const tileLevel = quotient(level, TILE_HEIGHT)
  const count = 2 ** (level - tileLevel * TILE_HEIGHT)
  const first = index * count
  return { tileLevel, tile: quotient(first, TILE_WIDTH), first: first % TILE_WIDTH, count }
}

function tileHolding(node: Node, size: number): Tile {
  const { tileLevel, tile } = placeOf(node)
  return tileOf(size, tileLevel, tile)
}

function tileKey(node: Node): string {
  const { tileLevel, tile } = placeOf(node)
  return `${tileLevel}/${tile}`
}

function checkedTile({ level, index, width }: Tile, hashes: Buffer | undefined): Buffer {
  if (hashes && hashes.length >= width * HASH_BYTES) return hashes
  throw new RangeError(
    `tile ${index} of level ${level} is missing or has less than ${width} hashes`,
  )
}

function nodeIn(hashes: Buffer, node: Node): Buffer {
  const { first, count } = placeOf(node)
  return subtreesOf(hashes).root(first, count)
}
