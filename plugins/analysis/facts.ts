import { keySentences, keywordsOf, summaryOf, titleOf } from './digest.ts'
import type { Document, Entity, EntityType, Sentiment } from './engine.ts'
import type { Sentence } from './text.ts'

/** A computed fact about a text: a value, or a list of values or objects. */
export type Fact = string | number | boolean | readonly (string | FactItem)[]
export type FactItem = Readonly<Record<string, string | number | boolean>>

/** Input of the facts; expensive parts are computed once, on first use. */
export interface FactInput {
  readonly document: Document
  readonly sentences: readonly Sentence[]
  readonly instructions: string
  readonly entities: () => readonly Entity[]
  readonly sentiment: () => Sentiment
  readonly offset: (index: number) => number
  /** Computed facts by the name of their source. */
  readonly facts: Map<string, Fact>
}

interface Source {
  /** Default field name. */
  readonly name: string
  /** Field names that callers use, as an alternation without capturing groups. */
  readonly words: string
  readonly fact: (input: FactInput) => Fact
}

const entitiesOf =
  (type: EntityType) =>
  (input: FactInput): Fact =>
    input.entities().flatMap((entity) => (entity.type === type ? [itemOf(input, entity)] : []))

const itemOf = ({ offset }: FactInput, entity: Entity): FactItem => ({
  text: entity.text,
  type: entity.type,
  start: offset(entity.start),
  end: offset(entity.end),
  confidence: entity.confidence,
  ...(entity.subtype === undefined ? {} : { subtype: entity.subtype }),
  ...entity.value,
})

const aspectsOf = ({ sentiment }: FactInput): Fact =>
  sentiment().aspects.map(({ aspect, label, score, confidence, mentions }) => ({
    text: aspect,
    sentiment: label,
    score,
    confidence,
    count: mentions.length,
  }))

const matches =
  (pattern: RegExp) =>
  ({ document }: FactInput): Fact => [
    ...new Set(Array.from(document.text.matchAll(pattern), ([one]) => one)),
  ]

const EMAIL = /(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}(?![\w-])/g
const URL_PATTERN = /(?<!\w)(?:https?:\/\/|www\.)[^\s<>"')\]]{2,500}(?<![.,;:!?])/g
const WORD = /[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu
const wordsIn = (text: string): number => text.match(WORD)?.length ?? 0
/** Reading speed in words per minute. */
const READING_SPEED = 230

const NUMBERS = 'one two three four five six seven eight nine ten'.split(' ')

/** Count requested in the instructions: `in two sentences`, `top 5 keywords`. */
const requestedCount = (instructions: string, of: string): number | undefined => {
  const pattern = new RegExp(`\\b(\\d{1,2}|${NUMBERS.join('|')})[ -](?:\\w{1,12} )?(?:${of})`, 'i')
  const word = pattern.exec(instructions)?.[1]?.toLowerCase()
  if (word === undefined) return undefined
  const number = NUMBERS.includes(word) ? NUMBERS.indexOf(word) + 1 : Number(word)
  return number > 0 ? number : undefined
}

/** Sources of facts, in order of preference; the first whose words match a name is used. */
const SOURCES: readonly Source[] = [
  {
    name: 'summary',
    words: 'summary|summari[sz]e[ds]?|abstract|tl;?dr|overview|synopsis|gist',
    fact: ({ document, sentences, instructions }) =>
      summaryOf(document.text, sentences, requestedCount(instructions, 'sentence')),
  },
  {
    name: 'key_points',
    words:
      'key ?(?:points?|sentences|takeaways|facts|findings|insights)|main points|highlights' +
      '|takeaways|bullet ?points|bullets',
    fact: ({ document, sentences, instructions }) =>
      keySentences(
        document.text,
        sentences,
        requestedCount(instructions, 'points?|bullets?|takeaways|highlights|sentences') ?? 3,
      ),
  },
  {
    name: 'title',
    words: 'title|headline',
    fact: ({ document, sentences }) => titleOf(document.text, sentences),
  },
  {
    name: 'keywords',
    words: 'key ?(?:words?|phrases?|terms?)|tags|topics|themes|hashtags|subjects',
    fact: ({ sentences, instructions }) =>
      keywordsOf(
        sentences,
        requestedCount(instructions, 'key ?(?:words|phrases|terms)|tags|topics|themes'),
      ),
  },
  {
    name: 'main_topic',
    words: 'main topic|main theme',
    fact: ({ sentences }) => keywordsOf(sentences, 1)[0] ?? '',
  },
  {
    name: 'sentiment_score',
    words: 'sentiment score|polarity score|polarity',
    fact: ({ sentiment }) => sentiment().overall.score,
  },
  {
    name: 'sentiment_confidence',
    words: 'sentiment confidence',
    fact: ({ sentiment }) => sentiment().overall.confidence,
  },
  { name: 'aspects', words: 'aspects?|aspect sentiments?|opinions', fact: aspectsOf },
  {
    name: 'sentiment',
    words: 'sentiment(?: label)?|tone|mood|attitude',
    fact: ({ sentiment }) => sentiment().overall.label,
  },
  {
    name: 'language',
    words: 'lang|language(?: code)?',
    fact: ({ document }) => document.language.code,
  },
  {
    name: 'word_count',
    words: 'word ?count|number of words|words count|num words|how many words',
    fact: ({ document }) => wordsIn(document.text),
  },
  {
    name: 'sentence_count',
    words: 'sentence ?count|number of sentences|num sentences|how many sentences',
    fact: ({ sentences }) => sentences.length,
  },
  {
    name: 'character_count',
    words: 'char(?:acter)? ?count|number of characters|length',
    fact: ({ document }) => Array.from(document.text).length,
  },
  {
    name: 'paragraph_count',
    words: 'paragraph ?count|number of paragraphs',
    fact: ({ document }) =>
      document.text.split(/\n\s*\n/).filter((one) => one.trim() !== '').length,
  },
  {
    name: 'reading_time_minutes',
    words: 'reading time(?: minutes)?|read time',
    fact: ({ document }) => Math.max(1, Math.round(wordsIn(document.text) / READING_SPEED)),
  },
  { name: 'emails', words: 'e-?mails?|email address(?:es)?', fact: matches(EMAIL) },
  { name: 'urls', words: 'urls?|links|hyperlinks|websites', fact: matches(URL_PATTERN) },
  {
    name: 'people',
    words: 'people|persons?|person names?|names of people|individuals',
    fact: entitiesOf('person'),
  },
  {
    name: 'organizations',
    words: 'organi[sz]ations?|orgs?|compan(?:y|ies)|institutions',
    fact: entitiesOf('organization'),
  },
  {
    name: 'locations',
    words: 'locations?|places?|cit(?:y|ies)|countr(?:y|ies)',
    fact: entitiesOf('location'),
  },
  { name: 'dates', words: 'dates?|deadlines?|time expressions', fact: entitiesOf('date') },
  {
    name: 'money',
    words: 'money|prices?|costs?|monetary (?:amounts|values)|sums',
    fact: (input) => {
      const amounts = input.entities().filter(({ subtype }) => subtype === 'money')
      return amounts.map((amount) => itemOf(input, amount))
    },
  },
  {
    name: 'amounts',
    words: 'amounts?|figures|quantities|numbers',
    fact: entitiesOf('amount'),
  },
  { name: 'products', words: 'products?', fact: entitiesOf('product') },
  {
    name: 'entities',
    words: '(?:named )?entit(?:y|ies)',
    fact: (input) => input.entities().map((entity) => itemOf(input, entity)),
  },
]

const PREFIXES = 'the|overall|main|document|text|detected|mentioned|all|short|brief|list of'
const SOURCE_PATTERNS = SOURCES.map((source) => ({
  source,
  pattern: new RegExp(`^(?:(?:${PREFIXES}) )?(?:${source.words})(?: list| mentioned)?$`, 'i'),
  anywhere: new RegExp(`\\b(?:${source.words})\\b`, 'i'),
}))

/** Normalizes a name: `keyPhrases` and `key_phrases` become `key phrases`. */
export const normalizeName = (name: string): string =>
  name
    .slice(0, 100)
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/[_\-.\s]+/g, ' ')
    .trim()
    .toLowerCase()

/** Computes the fact of a source, at most once per call. */
export const factOf = ({ name, fact }: Source, input: FactInput): Fact => {
  const cached = input.facts.get(name)
  if (cached !== undefined) return cached
  const computed = fact(input)
  input.facts.set(name, computed)
  return computed
}

/** Finds a fact by field name, including `<source> count`, `has <source>` and `is positive`. */
export const factByName = (name: string, input: FactInput): Fact | undefined => {
  const words = normalizeName(name)
  const named = SOURCE_PATTERNS.find(({ pattern }) => pattern.test(words))
  if (named !== undefined) return factOf(named.source, input)
  const mood = /^is (positive|negative|neutral|mixed)$/.exec(words)?.[1]
  if (mood !== undefined) return input.sentiment().overall.label === mood
  const counted = /^(?:number of |num )(.{2,40})$|^(.{2,40}) count$/.exec(words)
  const present = /^(?:has|contains|mentions|includes) (.{2,40})$/.exec(words)?.[1]
  const inner = present ?? counted?.[1] ?? counted?.[2]
  const counting = SOURCE_PATTERNS.find(({ pattern }) => pattern.test(inner ?? ''))
  const list = counting === undefined ? undefined : factOf(counting.source, input)
  if (!Array.isArray(list)) return undefined
  return present === undefined ? list.length : list.length > 0
}

/** Sources requested by instructions in prose, in table order. */
export const requestedSources = (instructions: string): readonly Source[] =>
  SOURCE_PATTERNS.filter(({ anywhere }) => anywhere.test(instructions)).map(({ source }) => source)
