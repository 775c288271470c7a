/** Seeded random number generator (mulberry32). */
export interface Random {
  /** Random number from 0 (inclusive) to 1 (exclusive). */
  readonly share: () => number
  /** Random integer, both ends inclusive. */
  readonly between: (low: number, high: number) => number
  readonly of: <T>(list: readonly T[]) => T
  /** Indices 0 to `size` - 1 in random order. */
  readonly order: (size: number) => Uint32Array
}

export const randomFrom = (seed: number): Random => {
  let state = seed | 0
  const share = (): number => {
    state = (state + 0x6d_2b_79_f5) | 0
    let value = Math.imul(state ^ (state >>> 15), 1 | state)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number): number =>
    low + Math.floor(share() * (high - low + 1))
  return {
    share,
    between,
    of: (list) => list[between(0, list.length - 1)] as (typeof list)[number],
    order: (size) => {
      const order = Uint32Array.from({ length: size }, (_, at) => at)
      for (let last = size - 1; last > 0; last -= 1) {
        const other = between(0, last)
        const kept = order[last] ?? 0
        order[last] = order[other] ?? 0
        order[other] = kept
      }
      return order
    },
  }
}
