interface Queued {
  readonly operation: { readonly owner: bigint; readonly id: string }
}

/** An item with its round; each round has one item of each owner. */
interface QueuedItem<T> {
  readonly item: T
  readonly round: number
}

/**
 * Queue that is fair to owners. If more items wait than fit in a batch, they are taken round-robin
 * by owner, so that a flood on one account delays no other. Within a batch, and for each owner, the
 * order is that of arrival.
 */
export class FairQueue<T extends Queued> {
  readonly #max: number
  readonly #ownerMax: number
  readonly #owners = new Map<bigint, { queued: number; round: number }>()
  #items: QueuedItem<T>[] = []
  /** Round of a new item whose owner has nothing queued. */
  #round = 0

  /** Limits: `max` queued items in total and `ownerMax` of one owner. */
  constructor(max: number, ownerMax: number) {
    this.#max = max
    this.#ownerMax = ownerMax
  }

  get size(): number {
    return this.#items.length
  }

  /** Queues an item. Returns false if the queue is full, in total or for the owner. */
  push(item: T): boolean {
    const state = this.#owners.get(item.operation.owner) ?? { queued: 0, round: -1 }
    if (this.size >= this.#max || state.queued >= this.#ownerMax) return false
    state.queued++
    state.round = Math.max(state.round + 1, this.#round)
    this.#owners.set(item.operation.owner, state)
    this.#items.push({ item, round: state.round })
    return true
  }

  /** Removes and returns the next batch. A second item with the same id stays queued. */
  take(max: number): T[] {
    let { last, spare } = this.#limitRounds(max)
    const ids = new Set<string>()
    const batch: T[] = []
    const later: QueuedItem<T>[] = []
    for (const queued of this.#items) {
      const { item, round } = queued
      const isTaken = round < last || (round === last && spare-- > 0)
      if (!isTaken || ids.has(item.operation.id)) later.push(queued)
      else {
        ids.add(item.operation.id)
        batch.push(item)
        this.#countTaken(item)
      }
    }
    this.#items = later
    return batch
  }

  /** Returns the last round that fits in a batch, and how many items of that round fit. */
  #limitRounds(max: number): { last: number; spare: number } {
    if (this.size <= max) return { last: Number.POSITIVE_INFINITY, spare: 0 }
    const rounds = Float64Array.from(this.#items, ({ round }) => round).sort()
    this.#round = rounds[max - 1]!
    return { last: this.#round, spare: max - rounds.indexOf(this.#round) }
  }

  #countTaken({ operation: { owner } }: T): void {
    const state = this.#owners.get(owner)!
    if (--state.queued === 0) this.#owners.delete(owner)
  }
}
