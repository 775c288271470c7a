/** Place of a value in a `LinkedList`. */
export class ListEntry<Value> {
  readonly value: Value
  previous: ListEntry<Value> | undefined
  next: ListEntry<Value> | undefined
  isListed = true

  constructor(value: Value, previous: ListEntry<Value> | undefined) {
    this.value = value
    this.previous = previous
    this.next = undefined
  }
}

/**
 * List for values that come and go with each request. A Map or Set is moved to a new table every
 * few hundred of them. The old table, if it has lived long, keeps all that was in it in memory
 * until the next full garbage collection, and each collection of young objects copies that.
 */
export class LinkedList<Value> {
  #first: ListEntry<Value> | undefined
  #last: ListEntry<Value> | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Appends a value; the returned entry removes it. */
  add(value: Value): ListEntry<Value> {
    const entry = new ListEntry(value, this.#last)
    if (this.#last) this.#last.next = entry
    else this.#first = entry
    this.#last = entry
    this.#size++
    return entry
  }

  /** Removes an entry of this list. Returns false if it was removed before. */
  remove(entry: ListEntry<Value>): boolean {
    if (!entry.isListed) return false
    const { previous, next } = entry
    if (previous) previous.next = next
    else this.#first = next
    if (next) next.previous = previous
    else this.#last = previous
    // A removed entry that lived long must not keep its neighbors in memory.
    entry.previous = undefined
    entry.next = undefined
    entry.isListed = false
    this.#size--
    return true
  }

  /** Copies the values, in the order in which they were added. */
  values(): Value[] {
    const values: Value[] = []
    for (let entry = this.#first; entry; entry = entry.next) values.push(entry.value)
    return values
  }
}
