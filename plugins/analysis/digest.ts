import { readWordSet } from './lexicon.ts'
import { type Sentence, stem } from './text.ts'
import type { Token } from './tokens.ts'

const FUNCTION_WORDS = readWordSet('function-words.txt')
const KEYWORDS_MAX = 10

const isContent = ({ shape, lower }: Token): boolean =>
  (shape === 'title' || shape === 'lower' || shape === 'upper') &&
  lower.length > 2 &&
  !FUNCTION_WORDS.has(lower)

/** Weight of each stem: grows with the logarithm of its count. */
const stemWeights = (sentences: readonly Sentence[]): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const { tokens } of sentences) {
    for (const token of tokens) {
      if (!isContent(token)) continue
      const key = stem(token.lower)
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  return new Map(Array.from(counts, ([key, count]) => [key, 1 + Math.log(count)]))
}

/** Selects the (at most `size`) sentences with the most repeated content, in text order. */
export const keySentences = (
  text: string,
  sentences: readonly Sentence[],
  size: number,
): string[] => {
  const weights = stemWeights(sentences)
  const scored = sentences.map((sentence, index) => {
    const content = sentence.tokens.filter(isContent)
    const stems = new Set(content.map(({ lower }) => stem(lower)))
    const sum = [...stems].reduce((total, key) => total + (weights.get(key) ?? 0) - 0.6, 0)
    const opening = index === 0 ? 1.4 : 1
    const isFragment = content.length < 3
    return { index, score: isFragment ? 0 : (opening * sum) / (8 + content.length) ** 0.7 }
  })
  return scored
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, size)
    .sort((a, b) => a.index - b.index)
    .map(({ index }) => sliceOf(text, sentences[index]))
}

const sliceOf = (text: string, sentence: Sentence | undefined): string =>
  sentence === undefined ? '' : text.slice(sentence.start, sentence.end).replace(/\s+/g, ' ')

/** Extractive summary; by default a fifth of the text, one to three sentences. */
export const summaryOf = (
  text: string,
  sentences: readonly Sentence[],
  size = Math.max(1, Math.min(3, Math.ceil(sentences.length / 5))),
): string => keySentences(text, sentences, size).join(' ')

/** Keywords and two-word key phrases, by descending weight. */
export const keywordsOf = (sentences: readonly Sentence[], size = KEYWORDS_MAX): string[] => {
  const found = new Map<string, { surface: string; count: number; size: number }>()
  const count = (tokens: readonly Token[]): void => {
    const key = tokens.map(({ lower }) => stem(lower)).join(' ')
    const entry = found.get(key)
    if (entry !== undefined) entry.count += 1
    else {
      const surface = tokens.map(({ text, lower }) => (isName(text) ? text : lower)).join(' ')
      found.set(key, { surface, count: 1, size: tokens.length })
    }
  }
  for (const { tokens } of sentences) {
    for (const [at, token] of tokens.entries()) {
      if (!isContent(token)) continue
      count([token])
      const next = tokens[at + 1]
      if (next !== undefined && isContent(next) && next.start - token.end === 1)
        count([token, next])
    }
  }
  const ranked = Array.from(found.values())
    .filter(({ count, size }) => size === 1 || count > 1)
    .map((entry) => ({
      ...entry,
      weight: entry.count * (entry.size === 2 ? 2.2 : 1) * lengthBonus(entry.surface),
    }))
    .sort((a, b) => b.weight - a.weight)
  const chosen: string[] = []
  for (const { surface } of ranked) {
    if (chosen.length === size) break
    if (!chosen.some((other) => other.split(' ').includes(surface))) chosen.push(surface)
  }
  return chosen
}

const isName = (text: string): boolean => /^\p{Lu}\p{Lu}/u.test(text)
const lengthBonus = (surface: string): number => 0.6 + Math.min(surface.length, 12) / 12

/** Title: a short first line without a full stop, otherwise the best sentence, shortened. */
export const titleOf = (text: string, sentences: readonly Sentence[]): string => {
  const line = text.trim().split('\n', 1)[0]?.trim().slice(0, 200) ?? ''
  if (line.length <= 120 && line !== '' && !/[.!?]$/.test(line))
    return line.replace(/^#{1,6}\s/, '')
  const best = keySentences(text, sentences.slice(0, 5), 1)[0] ?? line
  return best.length <= 90
    ? best.replace(/[.]$/, '')
    : `${best.slice(0, 90).replace(/\s\S*$/, '')}…`
}
