/** What waits for a batch of one shard. */
interface Queued {
  readonly operation: { readonly owner: bigint; readonly id: string }
}

/**
 * A queue that is fair to owners: when more waits than a batch takes, each owner gets an equal
 * share of it, so that a flood on one account delays nobody else. Batches are in the order of
 * arrival, and so is all that one owner sends.
 */
export class FairQueue<T extends Queued> {
  readonly #max: number
  readonly #ownerMax: number
  readonly #counts = new Map<bigint, number>()
  #waiting: T[] = []

  /**
   * @param max how many may wait
   * @param ownerMax how many of them may be of one owner
   */
  constructor(max: number, ownerMax: number) {
    this.#max = max
    this.#ownerMax = ownerMax
  }

  get size(): number {
    return this.#waiting.length
  }

  /** False, and nothing is queued, when too much is waiting already. */
  push(item: T): boolean {
    const { owner } = item.operation
    const count = this.#counts.get(owner) ?? 0
    if (this.size >= this.#max || count >= this.#ownerMax) return false
    this.#counts.set(owner, count + 1)
    this.#waiting.push(item)
    return true
  }

  /** The next batch. An id that is in it already waits for the next one. */
  take(room: number): T[] {
    const share = this.size > room ? fairShare([...this.#counts.values()], room) : room
    const dealt = new Map<bigint, number>()
    const ids = new Set<string>()
    const batch: T[] = []
    const later: T[] = []
    for (const item of this.#waiting) {
      const { owner, id } = item.operation
      const count = dealt.get(owner) ?? 0
      if (batch.length === room || count >= share || ids.has(id)) later.push(item)
      else {
        dealt.set(owner, count + 1)
        ids.add(id)
        batch.push(item)
      }
    }
    for (const [owner, count] of dealt) this.#forget(owner, count)
    this.#waiting = later
    return batch
  }

  #forget(owner: bigint, count: number): void {
    const left = this.#counts.get(owner)! - count
    if (left === 0) this.#counts.delete(owner)
    else this.#counts.set(owner, left)
  }
}

/** How many each gets of those who want so many, dealt one by one until the room is full. */
function fairShare(wanted: readonly number[], room: number): number {
  let share = 0
  for (let left = room, open = wanted; left > 0; open = open.filter((want) => want > share)) {
    share++
    left -= open.length
  }
  return share
}
