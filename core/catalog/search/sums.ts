/** Sums by document: a hash table with open addressing, several times as fast as a Map. */
export class Sums {
  /** Where in the lists below a document is, plus 1; 0 where none is. */
  readonly #slots: Int32Array
  readonly #docs: Int32Array
  readonly #sums: Float64Array
  #size = 0

  /** @param most how many different documents there may be */
  constructor(most: number) {
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * most + 2)))
    this.#docs = new Int32Array(most)
    this.#sums = new Float64Array(most)
  }

  /** Adds `weight` times what each of these documents has of its own, if it is `among` those. */
  add(
    docs: Int32Array,
    amounts: Int16Array,
    weight: number,
    among: ReadonlySet<number> | undefined,
  ): void {
    const slots = this.#slots
    const mask = slots.length - 1
    for (let i = 0; i < docs.length; i++) {
      const doc = docs[i]!
      if (among && !among.has(doc)) continue
      let slot = Math.imul(doc, 0x9e3779b1) & mask
      while (slots[slot] !== 0 && this.#docs[slots[slot]! - 1] !== doc) slot = (slot + 1) & mask
      if (slots[slot] === 0) {
        this.#docs[this.#size] = doc
        slots[slot] = ++this.#size
      }
      this.#sums[slots[slot]! - 1]! += amounts[i]! * weight
    }
  }

  /** The documents with the greatest sums, greatest first; those with the same by their number. */
  greatest(count: number): number[] {
    const sums = this.#sums.subarray(0, this.#size)
    const bar = sums.toSorted().at(-count) ?? 0
    const best: number[] = []
    for (let i = 0; i < sums.length; i++) if (sums[i]! >= bar) best.push(i)
    const docs = this.#docs
    return best
      .sort((a, b) => sums[b]! - sums[a]! || docs[a]! - docs[b]!)
      .slice(0, count)
      .map((i) => docs[i]!)
  }
}
