import { createHash } from 'node:crypto'

const digest = (...parts: readonly Uint8Array[]): Buffer => {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

/** Merkle tree as RFC 6962, section 2.1, defines it: recursive, over all leaves in memory. */
export class NaiveTree {
  readonly #leaves: readonly Uint8Array[]

  /** @param leaves the data of the leaves */
  constructor(leaves: readonly Uint8Array[]) {
    this.#leaves = leaves
  }

  root(begin = 0, end = this.#leaves.length): Buffer {
    if (begin === end) return digest()
    if (end - begin === 1) return digest(Buffer.of(0), this.#leaves[begin]!)
    const middle = begin + NaiveTree.#split(end - begin)
    return digest(Buffer.of(1), this.root(begin, middle), this.root(middle, end))
  }

  path(leaf: number, end: number, begin = 0): Buffer[] {
    if (end - begin === 1) return []
    const middle = begin + NaiveTree.#split(end - begin)
    return leaf < middle
      ? [...this.path(leaf, middle, begin), this.root(middle, end)]
      : [...this.path(leaf, end, middle), this.root(begin, middle)]
  }

  proof(first: number, end: number, begin = 0, isWhole = true): Buffer[] {
    if (first === end) return isWhole ? [] : [this.root(begin, end)]
    const middle = begin + NaiveTree.#split(end - begin)
    return first <= middle
      ? [...this.proof(first, middle, begin, isWhole), this.root(middle, end)]
      : [...this.proof(first, end, middle, false), this.root(begin, middle)]
  }

  static #split(count: number): number {
    return 2 ** Math.floor(Math.log2(count - 1))
  }
}
