import type { Span } from './tokens.ts'

/**
 * Removes spans that overlap an earlier one or are empty; returns the others in text order.
 * @param ranked spans, the most important first
 * @param length of the text
 */
export function withoutOverlaps<T extends Span>(ranked: readonly T[], length: number): T[] {
  const covered = new Uint8Array(length)
  return ranked
    .filter(({ start, end }) => {
      if (end <= start || covered.subarray(start, end).includes(1)) return false
      covered.fill(1, start, end)
      return true
    })
    .sort((a, b) => a.start - b.start)
}

/** Orders spans for `withoutOverlaps`: the longer one wins. */
export const byLength = (a: Span, b: Span): number => b.end - b.start - (a.end - a.start)
