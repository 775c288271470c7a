/** A time-out that may be put off, and comes at once when whoever asks gives up. */
export class Deadline {
  readonly #asker: AbortSignal | undefined
  readonly #giveUp: (reason: unknown) => void
  readonly #left = (): void => this.#giveUp(this.#asker?.reason)
  #timer: NodeJS.Timeout

  constructor(ms: number, asker: AbortSignal | undefined, giveUp: (reason: unknown) => void) {
    this.#asker = asker
    this.#giveUp = giveUp
    this.#timer = this.#start(ms)
    asker?.addEventListener('abort', this.#left, { once: true })
  }

  extend(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = this.#start(ms)
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#asker?.removeEventListener('abort', this.#left)
  }

  #start(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#giveUp(new DOMException('', 'TimeoutError')), ms).unref()
  }
}
