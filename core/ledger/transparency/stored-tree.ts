import type { Pool } from 'pg'
import { HASH_BYTES } from '../../crypto/merkle.ts'
import { lastTile, TILE_LEVEL_MAX, type Tile } from './tile.ts'
import type { TileReader } from './tree.ts'

const READ_TILES = {
  name: 'stored-tree.read-tiles',
  text: `SELECT substring(t.hashes FOR w.bytes) AS hashes
    FROM unnest($2::smallint[], $3::bigint[], $4::integer[]) WITH ORDINALITY
      w(level, index, bytes, n)
    LEFT JOIN ledger.tile t ON t.shard = $1 AND t.level = w.level AND t.index = w.index
    ORDER BY w.n`,
}

/** Merkle tree of the entries of one shard, as the database stores it. */
export class StoredTree implements TileReader {
  readonly #db: Pick<Pool, 'query'>
  readonly shard: number

  constructor(db: Pick<Pool, 'query'>, shard: number) {
    this.#db = db
    this.shard = shard
  }

  /** Returns the number of entries in the tree. */
  async size(): Promise<number> {
    const { rows } = await this.#db.query<{ size: bigint }>(
      'SELECT size FROM ledger.tree WHERE shard = $1',
      [this.shard],
    )
    return Number(rows[0]?.size ?? 0)
  }

  /** Returns the hashes of tiles; a tile that is missing is empty. */
  readonly readTiles = async (tiles: readonly Tile[]): Promise<readonly Buffer[]> => {
    const { rows } = await this.#db.query<{ hashes: Buffer | null }>({
      ...READ_TILES,
      values: [
        this.shard,
        tiles.map(({ level }) => level),
        tiles.map(({ index }) => index),
        tiles.map(({ width }) => width * HASH_BYTES),
      ],
    })
    return rows.map(({ hashes }) => hashes ?? Buffer.alloc(0))
  }

  /** Returns the hashes of the last tile of each level at a size: where a builder continues. */
  lastTiles(size: number): Promise<readonly Buffer[]> {
    const levels = Array.from({ length: TILE_LEVEL_MAX + 1 }, (_, level) => level)
    return this.readTiles(levels.map((level) => lastTile(size, level)))
  }
}
