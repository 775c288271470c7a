import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import { HASH_BYTES } from '../../crypto/merkle.ts'
import { memoizeByObject } from '../../runtime/cache.ts'
import { StoredTree } from './stored-tree.ts'
import { TILE_WIDTH, type Tile, tilePath } from './tile.ts'
import type { TileReader } from './tree.ts'

/** Maximum cached tiles per database, for 16 million entries; 10 MB with their subtrees. */
const TILES_MAX = 256

const cacheOf = memoizeByObject(
  (_db: Pick<Pool, 'query'>) => new LRUCache<string, Buffer>({ max: TILES_MAX }),
)

/**
 * Merkle tree in the database that caches the tiles that most proofs need: those above the lowest
 * level, and those at the right edge. A tile of a given width never changes. Only for proofs:
 * verification reads the stored tiles.
 */
export class CachedTree implements TileReader {
  readonly #stored: StoredTree
  readonly #cache: LRUCache<string, Buffer>

  constructor(db: Pick<Pool, 'query'>, shard: number) {
    this.#stored = new StoredTree(db, shard)
    this.#cache = cacheOf(db)
  }

  readonly readTiles = async (tiles: readonly Tile[]): Promise<readonly Buffer[]> => {
    const known = tiles.map((tile) => this.#cache.get(this.#keyOf(tile)))
    const missing = tiles.filter((_, n) => !known[n])
    const read = missing.length === 0 ? [] : await this.#stored.readTiles(missing)
    for (const [n, tile] of missing.entries()) {
      const isShared = tile.level > 0 || tile.width < TILE_WIDTH
      const isWhole = read[n]!.length === tile.width * HASH_BYTES
      if (isShared && isWhole) this.#cache.set(this.#keyOf(tile), read[n])
    }
    const rest = read.values()
    return known.map((hashes) => hashes ?? rest.next().value!)
  }

  #keyOf(tile: Tile): string {
    return `${this.#stored.shard}/${tilePath(tile)}`
  }
}
