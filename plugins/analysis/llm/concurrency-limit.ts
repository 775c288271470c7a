import { EngineError } from './engine-error.ts'

const QUEUE_PER_SLOT = 8

/** Limits concurrent requests; further ones wait in order of arrival. */
export class ConcurrencyLimit {
  readonly #limit: number
  readonly #waiting: (() => void)[] = []
  #active = 0

  constructor(seats: number) {
    this.#limit = seats
  }

  /** @throws EngineError `busy` if too many requests wait, or the signal's reason */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(signal)
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#active < this.#limit) {
      this.#active += 1
      return
    }
    if (this.#waiting.length >= this.#limit * QUEUE_PER_SLOT) {
      throw new EngineError('busy', 'too many requests wait for this engine')
    }
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener('abort', give)
        resolve()
      }
      const give = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1)
        reject(signal.reason as Error)
      }
      signal.addEventListener('abort', give, { once: true })
      this.#waiting.push(enter)
    })
  }

  /** Hands the slot to the next waiting request, or frees it. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#active -= 1
  }
}
