/** Work that goes on beside, whose failures are nobody's. */
export class Pending {
  readonly #works = new Set<Promise<unknown>>()

  add(work: Promise<unknown>): void {
    const kept = work.catch(() => undefined).finally(() => this.#works.delete(kept))
    this.#works.add(kept)
  }

  async all(): Promise<void> {
    while (this.#works.size > 0) await Promise.all(this.#works)
  }
}
