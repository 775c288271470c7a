/** Counts work in progress, in total and by key, and refuses what exceeds a limit. */
export class Slots {
  readonly #max: number
  readonly #maxPerKey: number
  readonly #taken = new Map<string, number>()
  #total = 0

  constructor(limits: { readonly max: number; readonly maxPerKey: number }) {
    this.#max = limits.max
    this.#maxPerKey = limits.maxPerKey
  }

  /** True if no key can take a slot. */
  get isFull(): boolean {
    return this.#total >= this.#max
  }

  /** Takes a slot; undefined if none is free. @returns a function that frees it, once */
  take(key: string): (() => void) | undefined {
    const taken = this.#taken.get(key) ?? 0
    if (this.isFull || taken >= this.#maxPerKey) return undefined
    this.#total++
    this.#taken.set(key, taken + 1)
    let isFree = false
    return () => {
      if (isFree) return
      isFree = true
      this.#total--
      const left = this.#taken.get(key)! - 1
      if (left > 0) this.#taken.set(key, left)
      else this.#taken.delete(key)
    }
  }
}
