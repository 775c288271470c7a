import { singular } from 'agenthub/plugin'
import type { Json } from './caller-schema.ts'

/** Formats of a day that can be produced, by the pattern that callers write. */
export const DAY_PATTERN =
  /^(?:YYYY|DD|MM)(?:[-/.](?:YYYY|DD|MM|D|M)){1,2}$|^YYYY$|^ISO(?:[- ]?8601)?(?: date)?$/i

/** Formats an ISO day such as `2026-05-12` by a pattern; undefined if the day lacks a part. */
export const formatDay = (iso: string, pattern: string): string | undefined => {
  const [year = '', month, day] = iso.slice(0, 10).split('-')
  if (/^ISO/i.test(pattern)) return day === undefined ? undefined : iso.slice(0, 10)
  const parts = new Map([
    ['YYYY', year],
    ['MM', month],
    ['DD', day],
    ['M', month?.replace(/^0/, '')],
    ['D', day?.replace(/^0/, '')],
  ])
  const found = pattern.toUpperCase().split(/([-/.])/)
  const filled = found.map((part) => (parts.has(part) ? parts.get(part) : part))
  return filled.includes(undefined) ? undefined : filled.join('')
}

const STRING = { type: 'string' } as const
/** Words for types, in singular and without articles. */
const TYPES = new Map<string, Json>([
  ...'string str text varchar char sentence paragraph word phrase summary plain text free text'
    .split(' ')
    .map((word): [string, Json] => [word, STRING]),
  ['plain text', STRING],
  ['free text', STRING],
  ...'email url link uuid'.split(' ').map((word): [string, Json] => [word, STRING]),
  ...'number float double decimal numeric real percentage amount'
    .split(' ')
    .map((word): [string, Json] => [word, { type: 'number' }]),
  ...['integer', 'int', 'whole number', 'count'].map((word): [string, Json] => [
    word,
    { type: 'integer' },
  ]),
  ...['boolean', 'bool', 'true/false', 'true or false', 'true|false', 'flag'].map(
    (word): [string, Json] => [word, { type: 'boolean' }],
  ),
  ...['date', 'iso date', 'iso 8601', 'iso 8601 date', 'iso-8601', 'iso8601', 'datetime'].map(
    (word): [string, Json] => [word, { type: 'string', format: 'date' }],
  ),
  ...['any', 'unknown', 'mixed'].map((word): [string, Json] => [word, {}]),
  ['object', { type: 'object', properties: {} }],
  ['null', { type: 'null' }],
])

const FILLERS = new Set(
  (
    'please return respond reply answer give me output produce provide format formatted as in is ' +
    'be must should just only strictly simple simply valid json a an the of type single short ' +
    'one-line with optional required nullable value values'
  ).split(' '),
)

/** Removes leading words that carry no type, such as `must be a`. */
export const withoutFillers = (phrase: string): string => {
  const found = phrase.trim().split(/\s+/)
  let from = 0
  const isFiller = (word = ''): boolean => FILLERS.has(word.toLowerCase().replace(/:$/, ''))
  while (from < found.length - 1 && isFiller(found[from])) from += 1
  return found.slice(from).join(' ')
}

/** Schema of a type in words, such as `an array of strings`; undefined if it names no type. */
export const schemaOfPhrase = (phrase: string): Json | undefined => {
  const plain = withoutFillers(
    phrase
      .slice(0, 500)
      .trimEnd()
      .replace(/[.;,]$/, ''),
  )
  const lower = plain.toLowerCase()
  if (DAY_PATTERN.test(plain)) return dayOf(plain)
  return (
    TYPES.get(lower) ??
    listOf(plain) ??
    rangeOf(lower) ??
    dayIn(plain) ??
    choicesOf(plain) ??
    textOf(lower)
  )
}

/** Type named by the first word: `number of employees`. */
export const leadingType = (phrase: string): Json | undefined => {
  const [first = ''] = withoutFillers(phrase.slice(0, 500)).toLowerCase().split(/[\s,]/, 1)
  return first === 'object' ? undefined : TYPES.get(first)
}

/** `one sentence`, `at most 20 words`, `comma-separated list`, `bullet points`. */
const textOf = (phrase: string): Json | undefined => {
  if (phrase.split(/\s/).length > TEXT_WORDS_MAX) return undefined
  if (/^comma[- ]separated/.test(phrase)) return STRING
  if (/^bullet(?:ed)?[- ]?(?:points?|list)$|^bullets$/.test(phrase)) {
    return { type: 'array', items: STRING }
  }
  return /\b(?:sentences?|words?|paragraphs?|characters?)$/.test(phrase) ? STRING : undefined
}

const TEXT_WORDS_MAX = 6

const dayOf = (pattern: string): Json => {
  const upper = pattern.toUpperCase()
  return upper === 'YYYY-MM-DD' || upper.startsWith('ISO')
    ? { type: 'string', format: 'date' }
    : { type: 'string', description: upper }
}

/** `date in the format DD/MM/YYYY`, `date (YYYY-MM-DD)`. */
const dayIn = (phrase: string): Json | undefined => {
  const pattern = phrase.split(/[\s()"'`]+/).find((word) => DAY_PATTERN.test(word))
  return pattern === undefined || !/\bdate|\bday|format/i.test(phrase) ? undefined : dayOf(pattern)
}

const LIST =
  /^(?:(?:bulleted|numbered|ordered|flat) )?(?:array|list|set|collection)s?(?: of (.{1,200}))?$/i
const listOf = (phrase: string): Json | undefined => {
  const inner = phrase.endsWith('[]') ? phrase.slice(0, -2) : undefined
  const found = LIST.exec(phrase)
  if (inner === undefined && found === null) return undefined
  const named = inner ?? found?.[1]
  if (named === undefined) return { type: 'array', items: {} }
  const one = withoutFillers(named).split(' ').map(singular).join(' ')
  const items = TYPES.get(one.toLowerCase()) ?? schemaOfPhrase(named)
  if (items !== undefined) return { type: 'array', items }
  return /^[\p{L} _-]{2,40}$/u.test(named)
    ? { type: 'array', items: STRING, description: named }
    : undefined
}

const RANGE = /(?<![\d.])(-?\d{1,9}(?:\.\d{1,9})?) ?(?:and|to|-|–|\.\.) ?(-?\d{1,9}(?:\.\d{1,9})?)/
/** `number between 1 and 10`, `integer from 0 to 5`, `1-10`. */
const rangeOf = (phrase: string): Json | undefined => {
  const [whole = '', from = '', to = ''] = RANGE.exec(phrase) ?? []
  const named = /number|integer|\bint\b|float|decimal|score|rating|scale|percent|between|from/
  if (whole === '' || !(named.test(phrase) || phrase === whole)) return undefined
  const [minimum, maximum] = [Number(from), Number(to)]
  if (minimum >= maximum) return undefined
  const isWhole = /integer|\bint\b|whole/.test(phrase)
  return { type: isWhole ? 'integer' : 'number', minimum, maximum }
}

const CHOICES_MAX = 50
/** `one of a, b, c`, `yes or no`, `positive/negative/neutral`, `"low" | "high"`. */
const choicesOf = (phrase: string): Json | undefined => {
  const cue = /^(?:one of|either|enum|any of|exactly one of|choose from)\b[: ]*/i.exec(phrase)?.[0]
  const list = phrase.slice(cue?.length ?? 0).replace(/^[([]|[)\]]$/g, '')
  const isSeparated = /[|/]|\bor\b/.test(list)
  if (cue === undefined && !isSeparated) return undefined
  const choices = list
    .split(/[|/,;]|\bor\b|\band\b/)
    .map((one) => one.trim().replace(/^["'“‘`]|["'”’`.]$/g, ''))
    .filter((one) => one !== '')
  const areNames = choices.every((one) => one.length <= 60 && one.split(' ').length <= 3)
  if (choices.length < 2 || choices.length > CHOICES_MAX || !areNames) return undefined
  if (choices.every((one) => TYPES.has(one.toLowerCase()))) return unionOf(choices)
  return { type: 'string', enum: [...new Set(choices)] }
}

/** `string or null`: the first of the types. */
const unionOf = (names: readonly string[]): Json => {
  const types = names.map((name) => TYPES.get(name.toLowerCase()) ?? {})
  const isNull = ({ type }: Json): boolean => type === 'null'
  const [first = {}] = types.filter((one) => !isNull(one))
  return types.some(isNull) ? { anyOf: [first, { type: 'null' }] } : first
}
