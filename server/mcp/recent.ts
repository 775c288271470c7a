import { elapsedMs } from '../../core/clock.ts'

interface Entry<Value> {
  readonly value: Promise<Value>
  readonly at: number
}

/**
 * Remembers for a while what was looked up, and looks it up once for all who ask at the same time.
 * What failed is not remembered. For what the public may see: it may be `ms` old.
 */
export class Recent<Value> {
  readonly #known = new Map<string, Entry<Value>>()
  readonly #ms: number
  readonly #most: number

  /** @param most how many are remembered; then all are forgotten */
  constructor(ms: number, most: number) {
    this.#ms = ms
    this.#most = most
  }

  get(key: string, load: () => Promise<Value>): Promise<Value> {
    const known = this.#known.get(key)
    if (known && elapsedMs() - known.at < this.#ms) return known.value
    if (this.#known.size >= this.#most) this.#known.clear()
    const value = load()
    const entry = { value, at: elapsedMs() }
    this.#known.set(key, entry)
    value.catch(() => {
      if (this.#known.get(key) === entry) this.#known.delete(key)
    })
    return value
  }
}
