import { createHash } from 'node:crypto'
import type { Hex } from '../../core/payments/chain/asset.ts'

/** Chance that can be had again: what a seed and a name give, they always give. */
export class Random {
  readonly #seed: string
  #state: number

  constructor(seed: string) {
    this.#seed = seed
    this.#state = createHash('sha256').update(seed).digest().readUInt32LE()
  }

  /** Chance of its own for somebody: what others draw meanwhile does not change it. */
  of(name: string): Random {
    return new Random(`${this.#seed}/${name}`)
  }

  /** Both ends included. */
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

  /** Mulberry32: from 0 up to, but not including, 1. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * The cards that one of several players gets from a pack that is dealt in turn, shuffled anew
 * whenever it is used up: in a round every card comes once, whoever has it.
 */
export function* dealt<T>(
  random: Random,
  cards: readonly T[],
  { players, player }: { readonly players: number; readonly player: number },
): Generator<T, never> {
  for (let turn = 0; ; ) {
    for (const card of random.shuffled(cards)) if (turn++ % players === player) yield card
  }
}
