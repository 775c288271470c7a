/** Work that its caller may have left. It is waited for before its surroundings are taken down. */
export class UnderWay {
  readonly #works = new Set<Promise<unknown>>()

  add<T>(work: Promise<T>): Promise<T> {
    const over = (): void => void this.#works.delete(work)
    this.#works.add(work)
    work.then(over, over)
    return work
  }

  /** Until nothing is under way, also of what is begun meanwhile. */
  async idle(): Promise<void> {
    while (this.#works.size > 0) await Promise.allSettled(this.#works)
  }
}
