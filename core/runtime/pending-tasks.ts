import { LinkedList } from '../linked-list.ts'

/** Set of unfinished promises, awaited before the resources they use are closed. */
export class PendingTasks {
  readonly #tasks = new LinkedList<Promise<unknown>>()

  add<T>(task: Promise<T>): Promise<T> {
    const entry = this.#tasks.add(task)
    const remove = (): void => void this.#tasks.remove(entry)
    task.then(remove, remove)
    return task
  }

  /** Waits until no task is pending, including tasks added meanwhile. */
  async idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.allSettled(this.#tasks.values())
  }
}
