const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })

/** Segments words by Unicode rules (UAX 29, with dictionaries for scripts without spaces). */
export function countWords(text: string): number {
  let count = 0
  for (const { isWordLike } of segmenter.segment(text)) if (isWordLike) count++
  return count
}
