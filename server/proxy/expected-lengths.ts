import { setImmediate } from 'node:timers/promises'
import { ttlCache } from '../../core/runtime/cache.ts'
import { STORED_BYTES_MAX } from '../../core/usage/stored-responses.ts'

/** Length above which a body reserves memory before it is sent. Such bodies are not stored. */
export const LARGE_BYTES = STORED_BYTES_MAX

const REMEMBERED_MS = 600_000
const ENDPOINTS_MAX = 10_000

/** Recent response lengths of endpoints, from which the length of the next one is expected. */
export class ExpectedLengths {
  readonly #lengths = ttlCache<number, number>({ ttlMs: REMEMBERED_MS, max: ENDPOINTS_MAX })
  #lastTurn: Promise<void> = Promise.resolve()

  /** Returns undefined for an endpoint that has not responded recently. */
  find(endpointId: number): number | undefined {
    return this.#lengths.get(endpointId)
  }

  /** Records the length of a response. After a few shorter ones, a long one is forgotten. */
  record(endpointId: number, bytes: number): void {
    this.#lengths.set(endpointId, Math.max(bytes, (this.find(endpointId) ?? 0) / 2))
  }

  /** Resolves in order, once per turn of the event loop: other requests are served in between. */
  turn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => setImmediate())
    return this.#lastTurn
  }
}
