/** What waits for a batch of one shard. */
interface Queued {
  readonly operation: { readonly owner: bigint; readonly id: string }
}

/** An item, and in which round it is dealt: one of each owner to a round. */
interface Place<T> {
  readonly item: T
  readonly turn: number
}

/**
 * A queue that is fair to owners: when more waits than a batch takes, it is dealt out in turns, one
 * of each owner to a turn, so that a flood on one account delays nobody else. Within a batch, and
 * for each owner, the order is that of arrival.
 */
export class FairQueue<T extends Queued> {
  readonly #max: number
  readonly #ownerMax: number
  readonly #owners = new Map<bigint, { waiting: number; turn: number }>()
  #places: Place<T>[] = []
  /** That of whoever comes now and has nothing waiting. */
  #turn = 0

  /**
   * @param max how many may wait
   * @param ownerMax how many of them may be of one owner
   */
  constructor(max: number, ownerMax: number) {
    this.#max = max
    this.#ownerMax = ownerMax
  }

  get size(): number {
    return this.#places.length
  }

  /** False, and nothing is queued, when too much is waiting already. */
  push(item: T): boolean {
    const own = this.#owners.get(item.operation.owner) ?? { waiting: 0, turn: -1 }
    if (this.size >= this.#max || own.waiting >= this.#ownerMax) return false
    own.waiting++
    own.turn = Math.max(own.turn + 1, this.#turn)
    this.#owners.set(item.operation.owner, own)
    this.#places.push({ item, turn: own.turn })
    return true
  }

  /** The next batch. An id that is in it already waits for the next one. */
  take(room: number): T[] {
    let { last, spare } = this.#deal(room)
    const ids = new Set<string>()
    const batch: T[] = []
    const later: Place<T>[] = []
    for (const place of this.#places) {
      const { item, turn } = place
      const dealt = turn < last || (turn === last && spare-- > 0)
      if (!dealt || ids.has(item.operation.id)) later.push(place)
      else {
        ids.add(item.operation.id)
        batch.push(item)
        this.#forget(item)
      }
    }
    this.#places = later
    return batch
  }

  /** The last turn that the room is enough for, and how many of that turn. */
  #deal(room: number): { last: number; spare: number } {
    if (this.size <= room) return { last: Number.POSITIVE_INFINITY, spare: 0 }
    const turns = Float64Array.from(this.#places, ({ turn }) => turn).sort()
    this.#turn = turns[room - 1]!
    return { last: this.#turn, spare: room - turns.indexOf(this.#turn) }
  }

  #forget({ operation: { owner } }: T): void {
    const own = this.#owners.get(owner)!
    if (--own.waiting === 0) this.#owners.delete(owner)
  }
}
