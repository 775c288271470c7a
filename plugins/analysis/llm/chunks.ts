import type { Span } from '../tokens.ts'

/** Overlap of neighboring chunks in UTF-16 units, so that no name is cut in both. */
const OVERLAP = 200
/** Share of a chunk, counted from its end, that is searched for a good place to cut. */
const SEARCH_BACK_SHARE = 0.25

/** Overlapping chunks of at most `size` UTF-16 units, cut at a blank line, sentence or space. */
export const chunksOf = (text: string, size: number): readonly Span[] => {
  const chunks: Span[] = []
  let start = 0
  while (text.length - start > size) {
    const end = cutBefore(text, start, start + size)
    chunks.push({ start, end })
    start = characterBoundary(text, Math.max(start + 1, end - OVERLAP))
  }
  return [...chunks, { start, end: text.length }]
}

const cutBefore = (text: string, start: number, limit: number): number => {
  const from = Math.max(
    start + OVERLAP + 1,
    limit - Math.floor((limit - start) * SEARCH_BACK_SHARE),
  )
  const tail = text.slice(from, limit)
  for (const mark of ['\n\n', '. ', '.\n', '\n', ' ']) {
    const at = tail.lastIndexOf(mark)
    if (at >= 0) return from + at + mark.length
  }
  return characterBoundary(text, limit)
}

/** Moves an index inside a surrogate pair to the start of the pair. */
const characterBoundary = (text: string, index: number): number =>
  /[\udc00-\udfff]/.test(text.charAt(index)) ? index - 1 : index
