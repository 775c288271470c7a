import { elapsedMs } from '../../core/clock.ts'

/** Makes something of an object once, and remembers it as long as the object lives. */
export function remembered<In extends object, Out>(make: (from: In) => Out): (from: In) => Out {
  const made = new WeakMap<In, Out>()
  return (from) => {
    const known = made.get(from)
    if (known !== undefined) return known
    const fresh = make(from)
    made.set(from, fresh)
    return fresh
  }
}

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
