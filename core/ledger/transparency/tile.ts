import { quotient } from '../../crypto/merkle.ts'

/** Hashes of a full tile, as C2SP tlog-tiles fixes it. */
export const TILE_WIDTH = 256
/** Levels of a tree within one tile: 2 ** 8 = 256. */
export const TILE_HEIGHT = 8
/** Greatest tile level of C2SP tlog-tiles. */
export const TILE_LEVEL_MAX = 5
/** Most leaves of a tree: more would need a tile level above `TILE_LEVEL_MAX`. */
export const TREE_SIZE_MAX: number = 2 ** 48 - 1

/**
 * Position of a tile in a tree: `width` consecutive hashes of perfect subtrees of 256 ** `level`
 * leaves each, the first of which is number 256 × `index` of its level.
 */
export interface Tile {
  readonly level: number
  readonly index: number
  /** 1 to 256; below 256 at the right edge of the tree. */
  readonly width: number
}

const PATH = /^tile\/([0-5]|entries)\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/

/** Content of a file: hashes, or the leaves of a tile of level 0. */
export type TileContent = 'hashes' | 'entries'

/** Path of a tile, such as `tile/0/x001/234.p/56` (C2SP tlog-tiles). */
export function tilePath({ level, index, width }: Tile, content: TileContent = 'hashes'): string {
  let path = threeDigits(index)
  for (let rest = quotient(index, 1_000); rest > 0; rest = quotient(rest, 1_000)) {
    path = `x${threeDigits(rest)}/${path}`
  }
  const folder = content === 'entries' ? content : level
  return `tile/${folder}/${path}${width === TILE_WIDTH ? '' : `.p/${width}`}`
}

const threeDigits = (value: number): string => String(value % 1_000).padStart(3, '0')

/** Parses the path of a tile; undefined unless it is the one that `tilePath` writes. */
export function parseTilePath(
  path: string,
): { readonly tile: Tile; readonly content: TileContent } | undefined {
  const [, folder, groups = '', width] = PATH.exec(path) ?? []
  if (folder === undefined) return undefined
  const content = folder === 'entries' ? folder : 'hashes'
  const level = content === 'entries' ? 0 : Number(folder)
  const index = Number(groups.replaceAll(/[x/]/g, ''))
  const tile = { level, index, width: Number(width ?? TILE_WIDTH) }
  const isCanonical = tilePath(tile, content) === path && isWithinLimits(tile)
  return isCanonical ? { tile, content } : undefined
}

const isWithinLimits = ({ level, index, width }: Tile): boolean =>
  index <= lastTile(TREE_SIZE_MAX, level).index && width <= TILE_WIDTH

/** Hashes that a tree of a size has at a tile level. */
const levelWidth = (size: number, level: number): number => quotient(size, TILE_WIDTH ** level)

/** Last tile of a level; its width is 0 if the level is empty or ends with a full tile. */
export function lastTile(size: number, level: number): Tile {
  const count = levelWidth(size, level)
  return { level, index: quotient(count, TILE_WIDTH), width: count % TILE_WIDTH }
}

/** Yields the tiles that a tree of size `to` has, and did not have at size `from`. */
export function* newTiles(from: number, to: number): Generator<Tile> {
  for (let level = 0; level <= TILE_LEVEL_MAX; level++) {
    const [start, end] = [levelWidth(from, level), levelWidth(to, level)]
    if (start === end) continue
    for (let index = quotient(start, TILE_WIDTH); index * TILE_WIDTH < end; index++) {
      yield tileOf(to, level, index)
    }
  }
}

/** A tile of a tree of a size, as wide as it is in that tree. */
export function tileOf(size: number, level: number, index: number): Tile {
  const width = Math.min(TILE_WIDTH, levelWidth(size, level) - TILE_WIDTH * index)
  return { level, index, width }
}
