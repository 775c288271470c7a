import { HASH_BYTES, nodeHash } from '../../crypto/merkle.ts'
import { memoizeByObject } from '../../runtime/cache.ts'
import { TILE_WIDTH } from './tile.ts'

/** Roots of the perfect subtrees within one tile, each computed once. */
class Subtrees {
  readonly #hashes: Buffer
  /** Roots by the number of their hashes and the index of the first. */
  readonly #roots = new Map<number, Buffer>()

  constructor(hashes: Buffer) {
    this.#hashes = hashes
  }

  /** Returns the root over `count` hashes, a power of two, from number `first`. */
  root(first: number, count: number): Buffer {
    if (count === 1) return this.#hashes.subarray(first * HASH_BYTES, (first + 1) * HASH_BYTES)
    const place = first * (TILE_WIDTH + 1) + count
    const known = this.#roots.get(place)
    if (known) return known
    const half = count / 2
    const root = nodeHash(this.root(first, half), this.root(first + half, half))
    this.#roots.set(place, root)
    return root
  }
}

/** Returns the subtrees of the hashes of a tile; the same as long as these are in memory. */
export const subtreesOf = memoizeByObject((hashes: Buffer) => new Subtrees(hashes))
