/** One invariant of the books, and how often it is broken. */
export interface Check {
  readonly name: string
  /** How many rows, accounts or links break it; 0 when it holds. */
  readonly bad: bigint
  /** The first offender: a row as `shard 0 seq 17 id …`, or an account by its code. */
  readonly example?: string
}

export interface Verification {
  readonly ok: boolean
  readonly checks: readonly Check[]
  /** What was taken on trust, or could not be looked at. */
  readonly notes?: readonly string[]
}

/** Collects what is wrong, by the name of the check; each name is reported in the order given. */
export class Findings {
  readonly #found: Map<string, { bad: bigint; example?: string }>
  readonly #notes: string[] = []

  constructor(names: Iterable<string> = []) {
    this.#found = new Map([...names].map((name) => [name, { bad: 0n }]))
  }

  add(name: string, example: string, bad = 1n): void {
    const known = this.#found.get(name)
    this.#found.set(name, { bad: (known?.bad ?? 0n) + bad, example: known?.example ?? example })
  }

  /** Makes sure that a check is listed, also when it holds. */
  list(name: string): void {
    if (!this.#found.has(name)) this.#found.set(name, { bad: 0n })
  }

  /** Takes over all that others found. */
  include(other: Findings): void {
    for (const [name, { bad, example = '' }] of other.#found) {
      this.list(name)
      if (bad > 0n) this.add(name, example, bad)
    }
    this.#notes.push(...other.#notes)
  }

  note(text: string): void {
    this.#notes.push(text)
  }

  get sound(): boolean {
    return [...this.#found.values()].every(({ bad }) => bad === 0n)
  }

  result(): Verification {
    const checks = [...this.#found].map(([name, finding]) => ({ name, ...finding }))
    const notes = this.#notes.length > 0 ? { notes: this.#notes } : {}
    return { ok: this.sound, checks, ...notes }
  }
}
