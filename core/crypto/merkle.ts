import { hash } from 'node:crypto'
import { sha256 } from './sha256.ts'

/** Bytes of a hash. */
export const HASH_BYTES = 32
/** Root of a tree without leaves (RFC 6962, section 2.1). */
export const EMPTY_ROOT: Buffer = sha256('')

const LEAF_PREFIX = Buffer.of(0x00)
const NODE_PREFIX = 0x01
const leafInput = Buffer.alloc(1 + HASH_BYTES)
const nodeInput = Buffer.alloc(1 + 2 * HASH_BYTES, NODE_PREFIX)

/** Integer division of whole numbers from 0; exact, and not limited to 32 bits. */
export const quotient = (value: number, by: number): number => (value - (value % by)) / by

/** Hash of a leaf (RFC 6962, section 2.1); a text stands for its UTF-8. */
export const leafHash = (data: string | Uint8Array): Buffer =>
  sha256(typeof data === 'string' ? `\0${data}` : Buffer.concat([LEAF_PREFIX, data]))

/**
 * Hashes of consecutive leaves whose data are hashes of 32 bytes. Allocates one buffer for all: a
 * buffer for each costs more than its hash.
 */
export function leafHashes(data: Buffer): Buffer {
  const hashes = Buffer.allocUnsafeSlow(data.length)
  for (let at = 0; at < data.length; at += HASH_BYTES) {
    data.copy(leafInput, 1, at, at + HASH_BYTES)
    hashes.write(hash('sha256', leafInput, 'binary'), at, 'binary')
  }
  return hashes
}

/** Hash of an inner node (RFC 6962, section 2.1). */
export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  nodeInput.set(left, 1)
  nodeInput.set(right, 1 + HASH_BYTES)
  return sha256(nodeInput)
}

/** Root of a perfect tree over consecutive hashes; their count is a power of two. */
export function perfectRoot(hashes: Buffer): Buffer {
  const row = Buffer.from(hashes)
  for (let length = row.length; length > HASH_BYTES; length /= 2) {
    for (let at = 0; at < length; at += 2 * HASH_BYTES) {
      row.copy(nodeInput, 1, at, at + 2 * HASH_BYTES)
      row.write(hash('sha256', nodeInput, 'binary'), at / 2, 'binary')
    }
  }
  return row.subarray(0, HASH_BYTES)
}

/** Root of a tree and the number of its leaves. */
export interface TreeHead {
  readonly size: number
  readonly root: Uint8Array
}

/** A leaf's path to the root: the hashes of the siblings, from the leaf upwards. */
export interface Inclusion {
  readonly index: number
  readonly leaf: Uint8Array
  readonly path: readonly Uint8Array[]
}

/** Returns true if the path leads from the leaf hash to the root (RFC 9162, section 2.1.3.2). */
export function verifyInclusion({ size, root }: TreeHead, proof: Inclusion): boolean {
  const reached = rootFromPath(size, proof)
  return reached !== undefined && areEqual(reached, root)
}

/** Root of the tree of `size` leaves to which a path leads; undefined if it does not fit. */
export function rootFromPath(
  size: number,
  { index, leaf, path }: Inclusion,
): Uint8Array | undefined {
  if (!isCount(index) || !isCount(size) || index >= size) return undefined
  if (![leaf, ...path].every(isHash)) return undefined
  const isLeft = siblingSides(index, size - 1, path.length)
  return (
    isLeft &&
    path.reduce(
      (hash, sibling, n) => (isLeft[n] ? nodeHash(sibling, hash) : nodeHash(hash, sibling)),
      leaf,
    )
  )
}

/** Returns true if the first tree is a prefix of the second (RFC 9162, section 2.1.4.2). */
export function verifyConsistency(
  first: TreeHead,
  second: TreeHead,
  proof: readonly Uint8Array[],
): boolean {
  if (!isCount(first.size) || !isCount(second.size) || first.size > second.size) return false
  if (![first.root, second.root, ...proof].every(isHash)) return false
  if (first.size === 0) return proof.length === 0 && areEqual(first.root, EMPTY_ROOT)
  if (first.size === second.size) return proof.length === 0 && areEqual(first.root, second.root)
  let position = first.size - 1
  let last = second.size - 1
  while (isOdd(position)) {
    position = half(position)
    last = half(last)
  }
  const [start, ...path] = position === 0 ? [first.root, ...proof] : proof
  const isLeft = siblingSides(position, last, path.length)
  if (!start || !isLeft) return false
  const older = path.reduce(
    (hash, sibling, n) => (isLeft[n] ? nodeHash(sibling, hash) : hash),
    start,
  )
  const newer = path.reduce(
    (hash, sibling, n) => (isLeft[n] ? nodeHash(sibling, hash) : nodeHash(hash, sibling)),
    start,
  )
  return areEqual(older, first.root) && areEqual(newer, second.root)
}

/**
 * Says of each sibling on the way from a node to the root whether it is the left one; undefined if
 * the way does not have `length` siblings.
 * @param last index of the last node of the same level
 */
function siblingSides(index: number, last: number, length: number): boolean[] | undefined {
  const isLeft: boolean[] = []
  while (last > 0) {
    if (isOdd(index) || index < last) isLeft.push(isOdd(index))
    index = half(index)
    last = half(last)
  }
  return isLeft.length === length ? isLeft : undefined
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
const isHash = (bytes: Uint8Array): boolean => bytes.length === HASH_BYTES
const isOdd = (value: number): boolean => value % 2 === 1
const half = (value: number): number => quotient(value, 2)
const areEqual = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0
