const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })

/** Words by Unicode's rules (UAX 29, and dictionaries for scripts that set no spaces). */
export function countWords(text: string): number {
  let count = 0
  for (const { isWordLike } of segmenter.segment(text)) if (isWordLike) count++
  return count
}
