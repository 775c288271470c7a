import { LinkedList, type ListEntry } from '../linked-list.ts'

/** A response that is being collected. */
export interface Collection {
  /** Bytes collected so far. */
  readonly size: number
  /** Place in the budget, while bytes of it are counted; set by the budget. */
  entry: ListEntry<Collection> | undefined
  /** Ends the collection because all collections together use too much memory. */
  abandon(): void
}

/** Limits the memory of all responses that are being collected: the largest ends first. */
export class CollectionBudget {
  readonly #maxBytes: number
  readonly #open = new LinkedList<Collection>()
  #total = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Counts bytes that a collection has just added to its size. */
  add(collection: Collection, bytes: number): void {
    collection.entry ??= this.#open.add(collection)
    this.#total += bytes
    if (this.#total > this.#maxBytes) this.#largest().abandon()
  }

  /** Stops counting a collection that has ended. */
  remove(collection: Collection): void {
    const { entry } = collection
    if (!entry) return
    collection.entry = undefined
    this.#open.remove(entry)
    this.#total -= collection.size
  }

  #largest(): Collection {
    return this.#open
      .values()
      .reduce((largest, each) => (each.size > largest.size ? each : largest))
  }
}
