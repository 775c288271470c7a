/** Set of unfinished promises, awaited before the resources they use are closed. */
export class PendingTasks {
  readonly #tasks = new Set<Promise<unknown>>()

  add<T>(task: Promise<T>): Promise<T> {
    const remove = (): void => void this.#tasks.delete(task)
    this.#tasks.add(task)
    task.then(remove, remove)
    return task
  }

  /** Waits until no task is pending, including tasks added meanwhile. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.allSettled(this.#tasks)
  }
}
