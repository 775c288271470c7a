import { keySentences, keywordsOf, summaryOf, titleOf } from './digest.ts'
import type { Document, Entity, EntityType, Sentiment } from './engine.ts'
import type { Sentence } from './text.ts'

/** What can be computed of a text: a value, or a list of values or of things with members. */
export type Fact = string | number | boolean | readonly (string | Thing)[]
export type Thing = Readonly<Record<string, string | number | boolean>>

/** What the facts are computed from, each part at most once and only when it is asked for. */
export interface Reading {
  readonly document: Document
  readonly sentences: readonly Sentence[]
  readonly instructions: string
  readonly entities: () => readonly Entity[]
  readonly sentiment: () => Sentiment
  readonly offset: (index: number) => number
  /** What has been computed already, by the name of its source. */
  readonly facts: Map<string, Fact>
}

interface Source {
  /** The name of the field when the caller names none. */
  readonly name: string
  /** What callers call it, as an alternation without groups that capture. */
  readonly words: string
  readonly fact: (reading: Reading) => Fact
}

const entitiesOf =
  (type: EntityType) =>
  (reading: Reading): Fact =>
    reading.entities().flatMap((entity) => (entity.type === type ? [thingOf(reading, entity)] : []))

const thingOf = ({ offset }: Reading, entity: Entity): Thing => ({
  text: entity.text,
  type: entity.type,
  start: offset(entity.start),
  end: offset(entity.end),
  confidence: entity.confidence,
  ...(entity.subtype === undefined ? {} : { subtype: entity.subtype }),
  ...entity.value,
})

const aspectsOf = ({ sentiment }: Reading): Fact =>
  sentiment().aspects.map(({ aspect, label, score, confidence, mentions }) => ({
    text: aspect,
    sentiment: label,
    score,
    confidence,
    count: mentions.length,
  }))

const matches =
  (pattern: RegExp) =>
  ({ document }: Reading): Fact => [
    ...new Set(Array.from(document.text.matchAll(pattern), ([one]) => one)),
  ]

const EMAIL = /(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}(?![\w-])/g
const URL_PATTERN = /(?<!\w)(?:https?:\/\/|www\.)[^\s<>"')\]]{2,500}(?<![.,;:!?])/g
const WORD = /[\p{L}\p{N}][\p{L}\p{N}'’-]*/gu
const wordsIn = (text: string): number => text.match(WORD)?.length ?? 0
/** Words that a person reads in a minute. */
const READING_SPEED = 230

const NUMBERS = 'one two three four five six seven eight nine ten'.split(' ')

/** How many of something the instructions ask for: `in two sentences`, `top 5 keywords`. */
const asked = (instructions: string, of: string): number | undefined => {
  const pattern = new RegExp(`\\b(\\d{1,2}|${NUMBERS.join('|')})[ -](?:\\w{1,12} )?(?:${of})`, 'i')
  const word = pattern.exec(instructions)?.[1]?.toLowerCase()
  if (word === undefined) return undefined
  const number = NUMBERS.includes(word) ? NUMBERS.indexOf(word) + 1 : Number(word)
  return number > 0 ? number : undefined
}

/** In order of preference: the first whose words match a name gives its fact. */
const SOURCES: readonly Source[] = [
  {
    name: 'summary',
    words: 'summary|summari[sz]e[ds]?|abstract|tl;?dr|overview|synopsis|gist',
    fact: ({ document, sentences, instructions }) =>
      summaryOf(document.text, sentences, asked(instructions, 'sentence')),
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
        asked(instructions, 'points?|bullets?|takeaways|highlights|sentences') ?? 3,
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
      keywordsOf(sentences, asked(instructions, 'key ?(?:words|phrases|terms)|tags|topics|themes')),
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
    fact: (reading) => {
      const amounts = reading.entities().filter(({ subtype }) => subtype === 'money')
      return amounts.map((amount) => thingOf(reading, amount))
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
    fact: (reading) => reading.entities().map((entity) => thingOf(reading, entity)),
  },
]

const BEFORE = 'the|overall|main|document|text|detected|mentioned|all|short|brief|list of'
const NAMED = SOURCES.map((source) => ({
  source,
  pattern: new RegExp(`^(?:(?:${BEFORE}) )?(?:${source.words})(?: list| mentioned)?$`, 'i'),
  within: new RegExp(`\\b(?:${source.words})\\b`, 'i'),
}))

/** `keyPhrases` and `key_phrases` as `key phrases`. */
export const spelled = (name: string): string =>
  name
    .slice(0, 100)
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/[_\-.\s]+/g, ' ')
    .trim()
    .toLowerCase()

/** The fact of a source; a request that asks for it a hundred times computes it once. */
export const factOf = ({ name, fact }: Source, reading: Reading): Fact => {
  const known = reading.facts.get(name)
  if (known !== undefined) return known
  const computed = fact(reading)
  reading.facts.set(name, computed)
  return computed
}

/** The source of a field by its name: also `<source> count`, `has <source>`, `is positive`. */
export const factNamed = (name: string, reading: Reading): Fact | undefined => {
  const words = spelled(name)
  const named = NAMED.find(({ pattern }) => pattern.test(words))
  if (named !== undefined) return factOf(named.source, reading)
  const mood = /^is (positive|negative|neutral|mixed)$/.exec(words)?.[1]
  if (mood !== undefined) return reading.sentiment().overall.label === mood
  const counted = /^(?:number of |num )(.{2,40})$|^(.{2,40}) count$/.exec(words)
  const present = /^(?:has|contains|mentions|includes) (.{2,40})$/.exec(words)?.[1]
  const inner = present ?? counted?.[1] ?? counted?.[2]
  const counting = NAMED.find(({ pattern }) => pattern.test(inner ?? ''))
  const list = counting === undefined ? undefined : factOf(counting.source, reading)
  if (!Array.isArray(list)) return undefined
  return present === undefined ? list.length : list.length > 0
}

/** The sources that instructions in prose ask for, in the order of the table. */
export const sourcesAsked = (instructions: string): readonly Source[] =>
  NAMED.filter(({ within }) => within.test(instructions)).map(({ source }) => source)
