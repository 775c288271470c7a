import { elapsedMs } from '../core/clock.ts'

const FRESH_MS = 30_000

/** The same for half a minute: dear, and asked for by many. What failed is tried again. */
export function sparing<T>(make: () => Promise<T>): () => Promise<T> {
  let known: { readonly value: Promise<T>; readonly at: number } | undefined
  return () => {
    if (known && elapsedMs() - known.at <= FRESH_MS) return known.value
    const value = make().catch((error: unknown) => {
      known = undefined
      throw error
    })
    known = { value, at: elapsedMs() }
    return value
  }
}
