import type { Span } from '../tokens.ts'

/** What two neighbouring pieces have in common, so that no name is cut in both. */
const OVERLAP = 200
/** How far back from its end a piece looks for a good place to end. */
const SLACK = 0.25

/**
 * Cuts a text into pieces of at most `size` UTF-16 units: at a blank line, else after a sentence,
 * else at a space, and never inside of a character. They overlap a little, and cover the text.
 */
export const chunksOf = (text: string, size: number): readonly Span[] => {
  const chunks: Span[] = []
  let start = 0
  while (text.length - start > size) {
    const end = cutBefore(text, start, start + size)
    chunks.push({ start, end })
    start = wholeAt(text, Math.max(start + 1, end - OVERLAP))
  }
  return [...chunks, { start, end: text.length }]
}

const cutBefore = (text: string, start: number, limit: number): number => {
  const from = Math.max(start + OVERLAP + 1, limit - Math.floor((limit - start) * SLACK))
  const tail = text.slice(from, limit)
  for (const mark of ['\n\n', '. ', '.\n', '\n', ' ']) {
    const at = tail.lastIndexOf(mark)
    if (at >= 0) return from + at + mark.length
  }
  return wholeAt(text, limit)
}

/** The index, or the one before it where it is in the middle of a surrogate pair. */
const wholeAt = (text: string, index: number): number =>
  /[\udc00-\udfff]/.test(text.charAt(index)) ? index - 1 : index
