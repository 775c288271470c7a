import { EMPTY_ROOT, HASH_BYTES, nodeHash, perfectRoot, quotient } from '../../crypto/merkle.ts'
import { lastTile, TILE_LEVEL_MAX, TILE_WIDTH, type Tile, TREE_SIZE_MAX } from './tile.ts'

const TILE_BYTES = TILE_WIDTH * HASH_BYTES

/** A tile with its hashes. */
export interface FilledTile extends Tile {
  readonly hashes: Buffer
}

/** Appends leaves to a tree. Holds one tile for each level, 48 kB, and none that is full. */
export class TreeBuilder {
  #size: number
  /** Last tile of each level, while it is not full. */
  readonly #edge: Buffer[] = []

  /**
   * Continues a tree.
   * @param edge hashes of its last tiles, by level; those that are not full
   * @throws RangeError unless the tiles are as wide as the tree requires
   */
  constructor(size = 0, edge: readonly Buffer[] = []) {
    this.#size = size
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

  /**
   * Appends leaves.
   * @param hashes of the leaves, one after the other
   * @throws RangeError if the tree would be larger than the format permits
   */
  append(hashes: Buffer): void {
    if (this.#size + hashes.length / HASH_BYTES > TREE_SIZE_MAX) {
      throw new RangeError('the tree is full')
    }
    for (let at = 0; at < hashes.length; ) {
      const { index, width } = lastTile(this.#size, 0)
      const start = width * HASH_BYTES
      const copied = hashes.copy(this.#edge[0]!, start, at)
      at += copied
      if (start + copied === TILE_BYTES) this.#complete(0, index)
      this.#size += copied / HASH_BYTES
    }
  }

  /** Collects the last tile of a level, which is full, and appends its root to the level above. */
  #complete(level: number, index: number): void {
    const hashes = this.#edge[level]!
    this.collect({ level, index, width: TILE_WIDTH, hashes })
    const place = index % TILE_WIDTH
    perfectRoot(hashes).copy(this.#edge[level + 1]!, place * HASH_BYTES)
    if (place + 1 === TILE_WIDTH) this.#complete(level + 1, quotient(index, TILE_WIDTH))
  }

  /** Computes the root of the tree. */
  root(): Buffer {
    let root: Buffer | undefined
    for (const [level, tile] of this.#edge.entries()) {
      let end = lastTile(this.#size, level).width
      for (let count = 1; end > 0; count *= 2) {
        if (quotient(end, count) % 2 === 0) continue
        const left = perfectRoot(tile.subarray((end - count) * HASH_BYTES, end * HASH_BYTES))
        root = root ? nodeHash(left, root) : left
        end -= count
      }
    }
    return root ?? EMPTY_ROOT
  }

  /** Returns the tiles that are not full; the next `append` may overwrite their hashes. */
  protected lastTiles(): readonly FilledTile[] {
    return this.#edge.map((tile, level) => {
      const last = lastTile(this.#size, level)
      return { ...last, hashes: tile.subarray(0, last.width * HASH_BYTES) }
    })
  }

  /** Handles a tile that became full; the next `append` may overwrite its hashes. */
  protected collect(_tile: FilledTile): void {}
}

/** Appends leaves to a tree and collects its tiles. */
export class TileBuilder extends TreeBuilder {
  readonly #full: FilledTile[] = []
  /** Size at the last `take`. */
  #from = this.size

  protected override collect(tile: FilledTile): void {
    this.#full.push({ ...tile, hashes: Buffer.from(tile.hashes) })
  }

  /** Returns the tiles that changed since the last call, and forgets them. */
  take(): readonly FilledTile[] {
    const changed = this.#full.splice(0)
    for (const tile of this.lastTiles()) {
      const before = lastTile(this.#from, tile.level)
      if (tile.width === 0 || (tile.index === before.index && tile.width === before.width)) continue
      changed.push({ ...tile, hashes: Buffer.from(tile.hashes) })
    }
    this.#from = this.size
    return changed
  }
}
