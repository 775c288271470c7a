import { leafHash } from '../../../../core/crypto/merkle.ts'
import { lastTile, type Tile, tilePath } from '../../../../core/ledger/transparency/tile.ts'
import type { TileReader } from '../../../../core/ledger/transparency/tree.ts'
import { type FilledTile, TileBuilder } from '../../../../core/ledger/transparency/tree-builder.ts'

/** Tiles in memory, by path, as a static file server would have them. */
export class MemoryTiles implements TileReader {
  readonly files = new Map<string, Buffer>()

  store(tiles: readonly FilledTile[]): void {
    for (const tile of tiles) this.files.set(tilePath(tile), tile.hashes)
  }

  find(tile: Tile): Buffer | undefined {
    return this.files.get(tilePath(tile))
  }

  /** Hashes of the last tile of each level that a tree of a size has. */
  edge(size: number): Buffer[] {
    return [0, 1, 2].map((level) => this.find(lastTile(size, level)) ?? Buffer.alloc(0))
  }

  readonly readTiles = async (tiles: readonly Tile[]): Promise<Buffer[]> =>
    tiles.map((tile) => {
      const hashes = this.find(tile)
      if (!hashes) throw new RangeError(`no ${tilePath(tile)}`)
      return hashes
    })
}

/** Builds a tree; `sizes` are those at which its partial tiles are stored. */
export function buildTiles(leaves: readonly Uint8Array[], sizes: readonly number[]): MemoryTiles {
  const tiles = new MemoryTiles()
  const builder = new TileBuilder()
  for (const leaf of leaves) {
    builder.append(leafHash(leaf))
    if (sizes.includes(builder.size)) tiles.store(builder.take())
  }
  tiles.store(builder.take())
  return tiles
}
