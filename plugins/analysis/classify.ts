import type { Category } from './engine.ts'
import { wordList, words } from './lexicon.ts'
import { addWord, likeness, type Meaning, noMeaning } from './meaning.ts'
import { type Sentence, stem } from './text.ts'
import { type Token, tokenize } from './tokens.ts'

export interface Scored {
  readonly name: string
  readonly index: number
  readonly confidence: number
  /** The weight of the words of the text that speak for the label; 0 is no evidence at all. */
  readonly evidence: number
}

const FUNCTION_WORDS = words('function-words.txt')
/** Beyond so many labels a topic word fits several of them, and only blurs. */
const MOST_EXPANDED = 20
const WEIGHTS = { name: 3, description: 1.5, example: 1.2, topic: 0.7 } as const
/** What the likeness of meanings weighs beside a word of the name in the text. */
const LIKENESS = 8
/** Of a text with fewer words the meaning is less sure. */
const MANY_WORDS = 25
/** Divides evidence before it becomes a confidence; see README.md. */
const TEMPERATURE = 0.55
/** The evidence at which an independent label is as likely as not. */
const HALF = 5.5

/** The words of a label or a text about one: `card_lost` and `CardLost` are two words. */
const wordsOf = (text: string): Token[] =>
  tokenize(text.replace(/[_/]/g, ' ').replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')).filter(
    ({ shape, lower }) => shape !== 'mark' && !FUNCTION_WORDS.has(lower),
  )

const stemsOf = (text: string): string[] => wordsOf(text).map(({ lower }) => stem(lower))

/** Topic words by the stem of each of the names of a topic. */
const TOPICS: ReadonlyMap<string, ReadonlySet<string>> = (() => {
  const topics = new Map<string, Set<string>>()
  for (const line of wordList('topics.txt')) {
    const [names = '', about = ''] = line.split(': ')
    const told = wordsOf(about).map(({ lower }) => lower)
    for (const name of stemsOf(names)) {
      topics.set(name, new Set([...(topics.get(name) ?? []), ...told]))
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

/** What a category is about, as one vector. */
const meaningOf = ({ name, description, examples }: Category, expands: boolean): Meaning => {
  const meaning = noMeaning()
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

/**
 * All categories with confidences, in descending order. One label holds: the confidences sum
 * to 1. Several may hold: each is judged by itself. `mood` is the sentiment score of the text,
 * for labels such as `positive`.
 */
export const classify = (
  sentences: readonly Sentence[],
  categories: readonly Category[],
  { several, mood }: { several: boolean; mood: number },
): Scored[] => {
  const counts = countStems(sentences)
  const expands = categories.length <= MOST_EXPANDED
  const profiles = categories.map((category) => profileOf(category, expands))
  const spread = spreadOf(profiles)
  const meanings = categories.map((category) => meaningOf(category, expands))
  const read = noMeaning()
  let known = 0
  for (const { tokens } of sentences) {
    for (const token of tokens) if (isWord(token) && addWord(read, token.lower)) known += 1
  }
  const trust = LIKENESS * Math.min(1, Math.sqrt(known / MANY_WORDS))
  const evidence = profiles.map((profile, index) => {
    const { name } = categories[index] as Category
    const like = Math.max(0, likeness(read, meanings[index] as Meaning))
    const words = weigh(counts, profile, spread, categories.length)
    return words + trust * like + moodEvidence(name, mood)
  })
  const confidences = several
    ? evidence.map((one) => 1 / (1 + Math.exp(HALF - one)))
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

/** How many categories each stem speaks for. */
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

/** Softmax: shares that sum to 1. */
const shares = (evidence: readonly number[]): number[] => {
  const top = Math.max(...evidence)
  const powers = evidence.map((one) => Math.exp((one - top) / TEMPERATURE))
  const total = powers.reduce((sum, one) => sum + one, 0)
  return powers.map((one) => one / total)
}
