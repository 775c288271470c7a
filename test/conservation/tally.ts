/** How often everything happened, by its kind and its name. */
export class Tally {
  readonly #counts = new Map<string, Map<string, number>>()

  /** Names what may happen, so that what never does is seen too. */
  expect(kind: string, names: readonly string[]): void {
    for (const name of names) this.#of(kind).set(name, this.#of(kind).get(name) ?? 0)
  }

  add(kind: string, name: string): void {
    this.#of(kind).set(name, (this.#of(kind).get(name) ?? 0) + 1)
  }

  /** What was to happen and did not. */
  missing(): string[] {
    return [...this.#counts].flatMap(([kind, names]) =>
      [...names].filter(([, count]) => count === 0).map(([name]) => `${kind}: ${name}`),
    )
  }

  /** A line for each kind. */
  lines(): string[] {
    return [...this.#counts].map(([kind, names]) => {
      const told = [...names].sort(([a], [b]) => a.localeCompare(b))
      return `${kind}: ${told.map(([name, count]) => `${name} ${count}`).join(', ')}`
    })
  }

  #of(kind: string): Map<string, number> {
    const known = this.#counts.get(kind) ?? new Map<string, number>()
    this.#counts.set(kind, known)
    return known
  }
}
