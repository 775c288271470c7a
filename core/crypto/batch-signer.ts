import { HASH_BYTES, leafHash, nodeHash } from './merkle.ts'
import type { SigningKey } from './signing-key.ts'

/** Most texts under one signature: a path then has at most 10 hashes. */
const BATCH_MAX = 1_024
/** Bytes before the hashes of a path: index and size, two each. */
const PLACE_BYTES = 4

/** Signature of the root over a batch of texts, and the place of one text in it. */
export interface BatchSignature {
  readonly key: SigningKey
  /** Index and size of the batch, two bytes each, and the path (RFC 6962) from the leaf upwards. */
  readonly place: Buffer
  readonly signature: Buffer
}

interface Pending {
  readonly leaf: Buffer
  readonly resolve: (signed: BatchSignature) => void
  readonly reject: (error: unknown) => void
}

/**
 * Signs the texts of one turn of the event loop together: one signature of the root of the Merkle
 * tree (RFC 6962) whose leaves they are.
 */
export class BatchSigner {
  readonly #key: () => SigningKey
  readonly #inputOf: (key: SigningKey, root: Buffer) => Uint8Array
  #pending: Pending[] = []

  /**
   * @param key returns the key that signs now
   * @param inputOf returns what is signed for a root
   */
  constructor(key: () => SigningKey, inputOf: (key: SigningKey, root: Buffer) => Uint8Array) {
    this.#key = key
    this.#inputOf = inputOf
  }

  sign(text: string): Promise<BatchSignature> {
    return new Promise((resolve, reject) => {
      if (this.#pending.length === 0) setImmediate(() => this.#signPending())
      this.#pending.push({ leaf: leafHash(text), resolve, reject })
    })
  }

  #signPending(): void {
    const pending = this.#pending
    this.#pending = []
    for (let at = 0; at < pending.length; at += BATCH_MAX) {
      this.#signBatch(pending.slice(at, at + BATCH_MAX))
    }
  }

  #signBatch(batch: readonly Pending[]): void {
    try {
      const levels = levelsOf(batch.map(({ leaf }) => leaf))
      const key = this.#key()
      const signature = key.sign(this.#inputOf(key, levels.at(-1)![0]!))
      for (const [index, { resolve }] of batch.entries()) {
        resolve({ key, place: placeOf(levels, index), signature })
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}

/** Reads a place. Returns undefined if it is malformed. */
export function readPlace(place: Buffer) {
  const pathBytes = place.length - PLACE_BYTES
  if (pathBytes < 0 || pathBytes % HASH_BYTES !== 0) return undefined
  const path: Buffer[] = []
  for (let at = PLACE_BYTES; at < place.length; at += HASH_BYTES) {
    path.push(place.subarray(at, at + HASH_BYTES))
  }
  return { index: place.readUInt16BE(0), size: place.readUInt16BE(2), path }
}

type Levels = readonly (readonly Buffer[])[]

/** Hashes of a Merkle tree, from the leaves to the root; the last of an odd number moves up. */
function levelsOf(leaves: readonly Buffer[]): Levels {
  const levels = [leaves]
  for (let row = leaves; row.length > 1; ) {
    const above: Buffer[] = []
    for (let at = 0; at < row.length; at += 2) {
      const [left, right] = [row[at]!, row[at + 1]]
      above.push(right ? nodeHash(left, right) : left)
    }
    levels.push(above)
    row = above
  }
  return levels
}

function placeOf(levels: Levels, index: number): Buffer {
  const head = Buffer.alloc(PLACE_BYTES)
  head.writeUInt16BE(index, 0)
  head.writeUInt16BE(levels[0]!.length, 2)
  const path = levels.map((row, level) => row[(index >> level) ^ 1])
  return Buffer.concat([head, ...path.filter((hash) => hash !== undefined)])
}
