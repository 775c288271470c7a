import { createHash } from 'node:crypto'
import type { Hex } from '../../core/payments/chain/asset.ts'

/** Deterministic random numbers: equal seeds and names give equal sequences. */
export class Random {
  readonly #seed: string
  #state: number

  constructor(seed: string) {
    this.#seed = seed
    this.#state = createHash('sha256').update(seed).digest().readUInt32LE()
  }

  /** Returns an independent generator for `name`; draws from other generators do not affect it. */
  fork(name: string): Random {
    return new Random(`${this.#seed}/${name}`)
  }

  /** Returns an integer between `low` and `high`, both inclusive. */
  between(low: number, high: number): number {
    return low + Math.floor(this.#next() * (high - low + 1))
  }

  chance(of: number): boolean {
    return this.#next() < of
  }

  pick<T>(list: readonly T[]): T {
    return list[this.between(0, list.length - 1)]!
  }

  shuffled<T>(list: readonly T[]): T[] {
    const rest = [...list]
    return Array.from({ length: rest.length }, () => {
      const [one] = rest.splice(this.between(0, rest.length - 1), 1)
      return one!
    })
  }

  hex(bytes: number): Hex {
    const digits = Array.from({ length: bytes }, () =>
      this.between(0, 255).toString(16).padStart(2, '0'),
    )
    return `0x${digits.join('')}`
  }

  /** Mulberry32; returns a number in [0, 1). */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * Yields one participant's share of the items, which are shuffled and assigned in turn, round after
 * round: in each round every item goes to exactly one participant.
 */
export function* assignInRounds<T>(
  random: Random,
  items: readonly T[],
  { participants, participant }: { readonly participants: number; readonly participant: number },
): Generator<T, never> {
  for (let turn = 0; ; ) {
    for (const item of random.shuffled(items)) if (turn++ % participants === participant) yield item
  }
}
