import { HASH_BYTES, perfectRoot } from './merkle.ts'
import { lastTile, TILE_LEVEL_MAX, TILE_WIDTH, type Tile, TREE_SIZE_MAX } from './tile.ts'

const TILE_BYTES = TILE_WIDTH * HASH_BYTES

/** A tile with its hashes. */
export interface FilledTile extends Tile {
  readonly hashes: Buffer
}

/** Appends leaves to a tree. Holds one tile for each level: at most 48 kB for 2 ** 48 leaves. */
export class TreeBuilder {
  #size: number
  /** Last tile of each level, while it is not full. */
  readonly #edge: Buffer[] = []
  readonly #full: FilledTile[] = []
  /** Lowest size since the last `take`. */
  #from: number

  /**
   * Continues a tree.
   * @param edge hashes of its last tiles, by level; those that are not full
   * @throws RangeError unless the tiles are as wide as the tree requires
   */
  constructor(size = 0, edge: readonly Buffer[] = []) {
    this.#size = size
    this.#from = size
    for (let level = 0; level <= TILE_LEVEL_MAX; level++) {
      const { width } = lastTile(size, level)
      const hashes = edge[level] ?? Buffer.alloc(0)
      if (hashes.length !== width * HASH_BYTES) {
        throw new RangeError(`level ${level} of a tree of ${size} leaves must end with ${width}`)
      }
      const tile = Buffer.alloc(TILE_BYTES)
      tile.set(hashes)
      this.#edge.push(tile)
    }
  }

  get size(): number {
    return this.#size
  }

  /** @throws RangeError if the tree is as large as the format permits */
  append(leaf: Uint8Array): void {
    if (this.#size >= TREE_SIZE_MAX) throw new RangeError('the tree is full')
    const added = [leaf]
    for (let level = 0; added.length > 0; level++) {
      const tile = this.#edge[level]!
      const { index, width } = lastTile(this.#size, level)
      tile.set(added.pop()!, width * HASH_BYTES)
      if (width + 1 < TILE_WIDTH) continue
      const hashes = Buffer.from(tile)
      this.#full.push({ level, index, width: TILE_WIDTH, hashes })
      added.push(perfectRoot(hashes))
    }
    this.#size++
  }

  /** Returns the tiles that changed since the last call, and forgets the full ones. */
  take(): readonly FilledTile[] {
    const changed = this.#full.splice(0)
    for (const [level, tile] of this.#edge.entries()) {
      const before = lastTile(this.#from, level)
      const { index, width } = lastTile(this.#size, level)
      if (width === 0 || (index === before.index && width === before.width)) continue
      const hashes = Buffer.from(tile.subarray(0, width * HASH_BYTES))
      changed.push({ level, index, width, hashes })
    }
    this.#from = this.#size
    return changed
  }
}
