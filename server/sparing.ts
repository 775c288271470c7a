import { elapsedMs } from '../core/clock.ts'

const FRESH_MS = 30_000

/**
 * The same for a while: dear, and asked for by many. What failed is tried again.
 * @param freshMs for how long; half a minute, unless it is said
 */
export function sparing<T>(make: () => Promise<T>, freshMs = FRESH_MS): () => Promise<T> {
  let known: { readonly value: Promise<T>; readonly at: number } | undefined
  return () => {
    if (known && elapsedMs() - known.at <= freshMs) return known.value
    const value = make().catch((error: unknown) => {
      known = undefined
      throw error
    })
    known = { value, at: elapsedMs() }
    return value
  }
}
