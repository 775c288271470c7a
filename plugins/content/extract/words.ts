const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })

/** Returns the words in lower case, without what stands between them; for comparing texts. */
export const wordsIn = (text: string): readonly string[] =>
  text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/** Segments words by Unicode rules (UAX 29, with dictionaries for scripts without spaces). */
export function countWords(text: string): number {
  let count = 0
  for (const { isWordLike } of segmenter.segment(text)) if (isWordLike) count++
  return count
}
