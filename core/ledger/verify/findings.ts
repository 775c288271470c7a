/** Result of checking one invariant of the ledger. */
export interface Check {
  readonly name: string
  /** Number of rows, accounts or links that violate it; 0 if it holds. */
  readonly bad: bigint
  /** First violation: a row as `shard 0 seq 17 id …`, or an account code. */
  readonly example?: string
}

export interface Verification {
  readonly ok: boolean
  readonly checks: readonly Check[]
  /** Limits of the verification: facts that were trusted or could not be checked. */
  readonly notes?: readonly string[]
}

/** Collects violations by check name, in the order in which checks were listed. */
export class Findings {
  readonly #checks: Map<string, { bad: bigint; example?: string }>
  readonly #notes: string[] = []

  constructor(names: Iterable<string> = []) {
    this.#checks = new Map([...names].map((name) => [name, { bad: 0n }]))
  }

  add(name: string, example: string, bad = 1n): void {
    const known = this.#checks.get(name)
    this.#checks.set(name, { bad: (known?.bad ?? 0n) + bad, example: known?.example ?? example })
  }

  list(name: string): void {
    if (!this.#checks.has(name)) this.#checks.set(name, { bad: 0n })
  }

  include(other: Findings): void {
    for (const [name, { bad, example = '' }] of other.#checks) {
      this.list(name)
      if (bad > 0n) this.add(name, example, bad)
    }
    this.#notes.push(...other.#notes)
  }

  note(text: string): void {
    this.#notes.push(text)
  }

  get isSound(): boolean {
    return [...this.#checks.values()].every(({ bad }) => bad === 0n)
  }

  result(): Verification {
    const checks = [...this.#checks].map(([name, finding]) => ({ name, ...finding }))
    const notes = this.#notes.length > 0 ? { notes: this.#notes } : {}
    return { ok: this.isSound, checks, ...notes }
  }
}
