import { createHash } from 'node:crypto'

/** Position of a leaf in a Merkle tree (RFC 6962), and the siblings on its way to the root. */
export interface MerklePath {
  readonly index: number
  /** Leaves of the tree. */
  readonly size: number
  readonly siblings: readonly Buffer[]
}

const LEAF = Buffer.of(0)
const NODE = Buffer.of(1)
const half = (value: number): number => Math.floor(value / 2)

export const sha256 = (...parts: readonly Buffer[]): Buffer =>
  createHash('sha256').update(Buffer.concat(parts)).digest()

export const leafHash = (data: Buffer): Buffer => sha256(LEAF, data)

/** Root to which a path leads (RFC 9162, section 2.1.3.2); undefined if its length is wrong. */
export function rootFrom(leaf: Buffer, { index, size, siblings }: MerklePath): Buffer | undefined {
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) return undefined
  let position = index
  let last = size - 1
  let root = leaf
  for (const sibling of siblings) {
    if (last === 0) return undefined
    if (position % 2 === 1 || position === last) {
      root = sha256(NODE, sibling, root)
      while (position % 2 === 0 && position !== 0) {
        position = half(position)
        last = half(last)
      }
    } else root = sha256(NODE, root, sibling)
    position = half(position)
    last = half(last)
  }
  return last === 0 ? root : undefined
}

/** Root of a tree and the number of its leaves. */
export interface TreeHead {
  readonly size: number
  readonly root: Buffer
}

/** Returns true if the first tree is the beginning of the second (RFC 9162, section 2.1.4.2). */
export function isBeginning(first: TreeHead, second: TreeHead, proof: readonly Buffer[]): boolean {
  if (![first, second].every(({ size }) => Number.isSafeInteger(size) && size > 0)) return false
  if (first.size >= second.size) {
    return first.size === second.size && proof.length === 0 && first.root.equals(second.root)
  }
  let position = first.size - 1
  let last = second.size - 1
  while (position % 2 === 1) {
    position = half(position)
    last = half(last)
  }
  const [start, ...siblings] = position === 0 ? [first.root, ...proof] : proof
  if (!start) return false
  let older = start
  let newer = start
  for (const sibling of siblings) {
    if (last === 0) return false
    if (position % 2 === 1 || position === last) {
      older = sha256(NODE, sibling, older)
      newer = sha256(NODE, sibling, newer)
      while (position % 2 === 0 && position !== 0) {
        position = half(position)
        last = half(last)
      }
    } else newer = sha256(NODE, newer, sibling)
    position = half(position)
    last = half(last)
  }
  return last === 0 && older.equals(first.root) && newer.equals(second.root)
}
