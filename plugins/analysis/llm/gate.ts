import { Trouble } from './trouble.ts'

const WAITING_PER_SEAT = 8

/** Lets so many requests through at once, the others in the order in which they came. */
export class Gate {
  readonly #seats: number
  readonly #waiting: (() => void)[] = []
  #taken = 0

  constructor(seats: number) {
    this.#seats = seats
  }

  /** @throws Trouble `busy` when too many wait, or the signal's reason */
  async through<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(signal)
    try {
      return await work()
    } finally {
      this.#leave()
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#taken < this.#seats) {
      this.#taken += 1
      return
    }
    if (this.#waiting.length >= this.#seats * WAITING_PER_SEAT) {
      throw new Trouble('busy', 'too many requests wait for this engine')
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

  /** The seat goes to the next one, who need not count itself. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#taken -= 1
  }
}
