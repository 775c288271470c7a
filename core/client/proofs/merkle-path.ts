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
  return stepsUp(index, size - 1, siblings)?.reduce(parentOf, leaf)
}

interface Step {
  readonly sibling: Buffer
  readonly isLeft: boolean
}

/**
 * Steps from a position of a row up to the root, beside their siblings; undefined if the path has
 * another length than the row demands.
 */
function stepsUp(
  start: number,
  end: number,
  siblings: readonly Buffer[],
): readonly Step[] | undefined {
  const steps: Step[] = []
  let position = start
  let last = end
  for (const sibling of siblings) {
    if (last === 0) return undefined
    const isLeft = position % 2 === 1 || position === last
    steps.push({ sibling, isLeft })
    if (isLeft) {
      while (position % 2 === 0 && position !== 0) {
        position = half(position)
        last = half(last)
      }
    }
    position = half(position)
    last = half(last)
  }
  return last === 0 ? steps : undefined
}

const parentOf = (node: Buffer, { sibling, isLeft }: Step): Buffer =>
  isLeft ? sha256(NODE, sibling, node) : sha256(NODE, node, sibling)

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
  const steps = stepsUp(position, last, siblings)
  if (!steps) return false
  const older = steps.filter(({ isLeft }) => isLeft).reduce(parentOf, start)
  return older.equals(first.root) && steps.reduce(parentOf, start).equals(second.root)
}
