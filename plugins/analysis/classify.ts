import type { Category } from './engine.ts'
import { readWordSet, wordList } from './lexicon.ts'
import { type Sentence, stem } from './text.ts'
import { addWord, cosineSimilarity, type TextVector, zeroVector } from './text-vector.ts'
import { type Token, tokenize } from './tokens.ts'

export interface CategoryScore {
  readonly name: string
  readonly index: number
  readonly confidence: number
  /** Weight of the words in the text that support the label; 0 is no evidence. */
  readonly evidence: number
}

const FUNCTION_WORDS = readWordSet('function-words.txt')
/** With more labels than this, topic words are not used: they fit several labels. */
const EXPANDED_LABELS_MAX = 20
const WEIGHTS = { name: 3, description: 1.5, example: 1.2, topic: 0.7 } as const
/** Weight of vector similarity relative to a word of the label's name in the text. */
const SIMILARITY_WEIGHT = 8
/** Texts with fewer known words get less weight for vector similarity. */
const RELIABLE_WORDS = 25
/** Softmax temperature for turning evidence into confidence; see README.md. */
const TEMPERATURE = 0.55
/** Evidence at which an independent label has a confidence of 0.5. */
const HALF_EVIDENCE = 5.5

/** Content words of a label or text: `card_lost` and `CardLost` are two words each. */
const wordsOf = (text: string): Token[] =>
  tokenize(text.replace(/[_/]/g, ' ').replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')).filter(
    ({ shape, lower }) => shape !== 'mark' && !FUNCTION_WORDS.has(lower),
  )

const stemsOf = (text: string): string[] => wordsOf(text).map(({ lower }) => stem(lower))

/** Topic words by the stem of each topic name. */
const TOPICS: ReadonlyMap<string, ReadonlySet<string>> = (() => {
  const topics = new Map<string, Set<string>>()
  for (const line of wordList('topics.txt')) {
    const [names = '', about = ''] = line.split(': ')
    const topicWords = wordsOf(about).map(({ lower }) => lower)
    for (const name of stemsOf(names)) {
      topics.set(name, new Set([...(topics.get(name) ?? []), ...topicWords]))
    }
  }
  return topics
})()

const profileOf = (category: Category, expands: boolean): Map<string, number> => {
  const profile = new Map<string, number>()
  const put = (stems: Iterable<string>, weight: number): void => {
    for (const one of stems) profile.set(one, Math.max(weight, profile.get(one) ?? 0))
  }
  const name = stemsOf(category.name)
  put(name, WEIGHTS.name)
  put(stemsOf(category.description ?? ''), WEIGHTS.description)
  put(stemsOf(category.examples?.join('\n') ?? ''), WEIGHTS.example)
  for (const word of expands ? name : []) put(topicStems(word), WEIGHTS.topic)
  return profile
}

const topicStems = (name: string): string[] => Array.from(TOPICS.get(name) ?? [], stem)

/** Weighted sum of the word vectors of a category. */
const categoryVector = (
  { name, description, examples }: Category,
  expands: boolean,
): TextVector => {
  const meaning = zeroVector()
  const put = (text: string, weight: number): void => {
    for (const { lower } of wordsOf(text)) addWord(meaning, lower, weight)
  }
  put(name, WEIGHTS.name)
  put(description ?? '', WEIGHTS.description)
  for (const example of examples ?? []) put(example, WEIGHTS.example)
  for (const word of expands ? stemsOf(name) : []) {
    for (const one of TOPICS.get(word) ?? []) addWord(meaning, one, WEIGHTS.topic / 2)
  }
  return meaning
}

const isWord = ({ shape }: Token): boolean => shape !== 'mark' && shape !== 'number'

/** With one label, confidences sum to 1; `mood` is the sentiment score, for such labels. */
export const classify = (
  sentences: readonly Sentence[],
  categories: readonly Category[],
  { several, mood }: { several: boolean; mood: number },
): CategoryScore[] => {
  const counts = countStems(sentences)
  const expands = categories.length <= EXPANDED_LABELS_MAX
  const profiles = categories.map((category) => profileOf(category, expands))
  const spread = spreadOf(profiles)
  const meanings = categories.map((category) => categoryVector(category, expands))
  const vector = zeroVector()
  let knownWords = 0
  for (const { tokens } of sentences) {
    for (const token of tokens) if (isWord(token) && addWord(vector, token.lower)) knownWords += 1
  }
  const trust = SIMILARITY_WEIGHT * Math.min(1, Math.sqrt(knownWords / RELIABLE_WORDS))
  const evidence = profiles.map((profile, index) => {
    const { name } = categories[index] as Category
    const like = Math.max(0, cosineSimilarity(vector, meanings[index] as TextVector))
    const words = weigh(counts, profile, spread, categories.length)
    return words + trust * like + moodEvidence(name, mood)
  })
  const confidences = several
    ? evidence.map((one) => 1 / (1 + Math.exp(HALF_EVIDENCE - one)))
    : shares(evidence)
  return categories
    .map(({ name }, index) => ({
      name,
      index,
      confidence: confidences[index] ?? 0,
      evidence: evidence[index] ?? 0,
    }))
    .sort((a, b) => b.evidence - a.evidence || a.index - b.index)
}

const countStems = (sentences: readonly Sentence[]): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const { tokens } of sentences) {
    for (const { lower, shape } of tokens) {
      if (shape === 'mark' || FUNCTION_WORDS.has(lower)) continue
      const key = stem(lower)
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  return counts
}

/** Number of categories that each stem supports. */
const spreadOf = (profiles: readonly ReadonlyMap<string, number>[]): Map<string, number> => {
  const spread = new Map<string, number>()
  for (const key of profiles.flatMap((profile) => [...profile.keys()])) {
    spread.set(key, (spread.get(key) ?? 0) + 1)
  }
  return spread
}

const weigh = (
  counts: ReadonlyMap<string, number>,
  profile: ReadonlyMap<string, number>,
  spread: ReadonlyMap<string, number>,
  labels: number,
): number => {
  let sum = 0
  for (const [key, count] of counts) {
    const weight = profile.get(key)
    if (weight === undefined) continue
    const rarity = Math.log(1 + labels / (spread.get(key) ?? 1)) / Math.log(1 + labels)
    sum += weight * rarity * (1 + Math.log(count))
  }
  return sum / (1 + Math.log(1 + counts.size / 20))
}

const moodEvidence = (label: string, mood: number): number => {
  const name = label.trim().toLowerCase()
  if (name === 'positive') return Math.max(0, mood) * 4
  if (name === 'negative') return Math.max(0, -mood) * 4
  return name === 'neutral' ? Math.max(0, 0.3 - Math.abs(mood)) * 4 : 0
}

/** Softmax over the evidence; the shares sum to 1. */
const shares = (evidence: readonly number[]): number[] => {
  const top = Math.max(...evidence)
  const powers = evidence.map((one) => Math.exp((one - top) / TEMPERATURE))
  const total = powers.reduce((sum, one) => sum + one, 0)
  return powers.map((one) => one / total)
}
