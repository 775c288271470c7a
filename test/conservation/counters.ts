/** Counters by kind and name. */
export class Counters {
  readonly #counts = new Map<string, Map<string, number>>()

  /** Declares names, so that those never counted are reported by `missing`. */
  expect(kind: string, names: readonly string[]): void {
    for (const name of names) this.#of(kind).set(name, this.#of(kind).get(name) ?? 0)
  }

  add(kind: string, name: string): void {
    this.#of(kind).set(name, (this.#of(kind).get(name) ?? 0) + 1)
  }

  /** Returns the declared names that were never counted. */
  missing(): string[] {
    return [...this.#counts].flatMap(([kind, names]) =>
      [...names].filter(([, count]) => count === 0).map(([name]) => `${kind}: ${name}`),
    )
  }

  /** Returns one line per kind. */
  lines(): string[] {
    return [...this.#counts].map(([kind, names]) => {
      const response = [...names].sort(([a], [b]) => a.localeCompare(b))
      return `${kind}: ${response.map(([name, count]) => `${name} ${count}`).join(', ')}`
    })
  }

  #of(kind: string): Map<string, number> {
    const previousTransaction = this.#counts.get(kind) ?? new Map<string, number>()
    this.#counts.set(kind, previousTransaction)
    return previousTransaction
  }
}
