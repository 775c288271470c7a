import { Refusal } from 'agenthub/plugin'
import type { Analysis, AnalyzeTask } from './engine.ts'
import {
  type Fact,
  type FactInput,
  type FactItem,
  normalizeName,
  requestedSources,
} from './facts.ts'
import { factFor } from './field-facts.ts'
import { type Shape, shapeOf } from './format.ts'
import { formatDay } from './type-phrases.ts'

type Json = Readonly<Record<string, unknown>>

/** A computed value with the schema that it satisfies. */
interface Filled {
  readonly value: unknown
  readonly schema: Json
}

interface FillState {
  readonly reading: FactInput
  readonly choices: readonly string[]
  readonly unresolved: string[]
  resolved: number
}

const notUnderstood = (prose: string): Refusal => {
  const shown = prose.trim().slice(0, 60)
  return new Refusal(
    'format_not_understood',
    `The output_format '${shown}' was not understood. The output is always JSON. Name the fields ` +
      'with their types, or send an example or a JSON Schema; see understood_formats.',
    {
      understood_formats: [
        'JSON with keys summary (string), people (array of strings) and date (YYYY-MM-DD)',
        'a JSON array of strings',
        'one of: positive, negative, neutral',
        { summary: 'string', people: ['string'], date: 'YYYY-MM-DD' },
      ],
    },
  )
}

/**
 * Fields that cannot be computed are null.
 *
 * @throws Refusal `format_not_understood`; `unsupported_by_engine` if no field can be computed
 */
export const analyze = (reading: FactInput, task: AnalyzeTask): Analysis => {
  const { format, instructions } = task
  if (format.kind === 'prose' && format.prose.trim() !== '') throw notUnderstood(format.prose)
  const shape = format.kind === 'schema' ? shapeOf(format.schema) : undefined
  const choices = choicesIn(instructions)
  const filling: FillState = { reading, choices, unresolved: [], resolved: 0 }
  const { value, schema } = fill('', shape ?? derivedShape(instructions, choices), '', filling)
  if (filling.resolved === 0) {
    throw new Refusal(
      'unsupported_by_engine',
      'The embedded engine can compute summary, title, keywords, key_points, entities and their ' +
        'types, sentiment, aspects, language, counts, e-mails, links, and a category among named ' +
        'ones; the request names none of them.',
      { unresolved: filling.unresolved },
    )
  }
  return { output: value, schema, unresolved: filling.unresolved }
}

/** Derives the output fields from the instructions, if no format is given. */
const derivedShape = (instructions: string, choices: readonly string[]): Shape => ({
  kind: 'object',
  properties: [
    ...requestedSources(instructions).map(({ name }) => [name, { kind: 'any' }] as const),
    ...(choices.length > 1 ? [['category', { kind: 'string', choices }] as const] : []),
  ],
})

const CUES =
  '\\b(?:classif(?:y|ied)|categori[sz]ed?|label(?:led)?)\\b[^.:\\n]{0,80}?' +
  '\\b(?:as|into|among|between|one of)\\b:?\\s{0,4}([^.\\n]{3,400})'
const CATEGORY_LISTS = [
  new RegExp(CUES, 'i'),
  /\b(?:categories|classes|labels|options|one of)(?: are)?\s{0,4}[:=(]\s{0,4}([^.)\n]{3,400})/i,
]

/** Extracts the categories named in the instructions: `classify as billing, bug or other`. */
const choicesIn = (instructions: string): string[] => {
  for (const pattern of CATEGORY_LISTS) {
    const list = pattern.exec(instructions)?.[1] ?? ''
    const choices = list
      .replace(/^(?:either|one of)[: ]/i, '')
      .split(/,\s{0,4}(?:or |and )?|\s(?:or|and)\s|[/|;]/)
      .map((one) => one.replace(/^["'“‘\s[(]+|(?<!["'”’\s\])])["'”’\s\])]+$/g, ''))
      .filter((one) => one !== '')
    const areNames = choices.every((one) => one.length <= 60 && one.split(' ').length <= 4)
    if (choices.length > 1 && choices.length <= 50 && areNames) return [...new Set(choices)]
  }
  return []
}

const fill = (name: string, shape: Shape, path: string, filling: FillState): Filled => {
  if (shape.kind === 'object' && (shape.properties ?? []).length > 0)
    return fillObject(name, shape, path, filling)
  const fact = factFor(name, shape, filling)
  const filled = fact === undefined ? undefined : fit(fact, shape, path, filling)
  if (filled !== undefined) {
    filling.resolved += 1
    return filled
  }
  filling.unresolved.push(path)
  return { value: null, schema: { anyOf: [schemaOf(shape), { type: 'null' }] } }
}

const fillObject = (name: string, shape: Shape, path: string, filling: FillState): Filled => {
  const entries = (shape.properties ?? []).map(([key, inner]) => {
    const pointer = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    return [key, fill(memberName(name, key), inner, pointer, filling)] as const
  })
  return {
    value: Object.fromEntries(entries.map(([key, { value }]) => [key, value])),
    schema: {
      type: 'object',
      properties: Object.fromEntries(entries.map(([key, { schema }]) => [key, schema])),
      required: entries.map(([key]) => key),
      additionalProperties: false,
    },
  }
}

/** Inside an object named `sentiment`, `score` means the sentiment score. */
const memberName = (parent: string, key: string): string => {
  const normalized = normalizeName(key)
  return normalizeName(parent) === 'sentiment' &&
    /^(?:label|score|confidence|overall)$/.test(normalized)
    ? `sentiment ${normalized === 'overall' ? 'label' : normalized}`
    : key
}

/** Converts a fact to the requested shape; undefined if it does not fit. */
const fit = (fact: Fact, shape: Shape, path: string, filling: FillState): Filled | undefined => {
  if (shape.kind === 'array')
    return fitList(Array.isArray(fact) ? fact : [fact as string], shape, path, filling)
  if (shape.kind === 'any')
    return Array.isArray(fact)
      ? fitList(fact, { kind: 'array' }, path, filling)
      : scalar(fact, shape)
  if (!Array.isArray(fact)) return scalar(fact, shape)
  if (shape.kind === 'boolean') return scalar(fact.length > 0, shape)
  if (shape.kind !== 'string') return scalar(firstNumber(fact), shape)
  const texts = distinct(fact.map(textOf))
  return texts.length === 0 ? undefined : scalar(texts.join(', '), shape)
}

const firstNumber = (list: readonly (string | FactItem)[]): Fact | undefined => {
  const [first] = list
  return typeof first === 'object' ? first['number'] : undefined
}

const scalar = (fact: Fact | undefined, shape: Shape): Filled | undefined => {
  const { kind, minimum = -Infinity, maximum = Infinity, choices } = shape
  const value = kind === 'string' && typeof fact === 'number' ? String(fact) : fact
  if (value === undefined || value === '') return undefined
  if (choices !== undefined && !(typeof value === 'string' && choices.includes(value))) {
    return undefined
  }
  if (kind === 'integer' && !Number.isInteger(value)) return undefined
  const type = kind === 'integer' ? 'number' : kind
  if (type !== 'any' && typeof value !== type) return undefined
  if (typeof value === 'number' && (value < minimum || value > maximum)) return undefined
  return { value, schema: kind === 'any' ? { type: typeof value } : schemaOf(shape) }
}

const fitList = (
  list: readonly (string | FactItem)[],
  shape: Shape,
  path: string,
  filling: FillState,
): Filled | undefined => {
  const limited = shape.maxItems ?? Infinity
  const { items } = shape
  if (items?.kind === 'object' && (items.properties ?? []).length > 0) {
    const things = list.slice(0, limited)
    if (things.length < (shape.minItems ?? 0)) return undefined
    const known = filling.unresolved.length
    const value = things.map((one, index) => members(one, items, `${path}/${index}`, filling))
    if (value.length > 0 && value.every((one) => Object.values(one).every((own) => own === null))) {
      filling.unresolved.length = known
      return undefined
    }
    const schema = { type: 'array', items: memberSchema(items) }
    return { value, schema }
  }
  if (items !== undefined && !['any', 'string', 'object'].includes(items.kind)) return undefined
  const keepsThings = items === undefined || items.kind !== 'string'
  const isPlain = list.every((one) => typeof one === 'string')
  const value =
    keepsThings && !isPlain ? list.slice(0, limited) : distinct(list.map(textOf)).slice(0, limited)
  if (value.length < (shape.minItems ?? 0)) return undefined
  return {
    value,
    schema: { type: 'array', items: { type: keepsThings && !isPlain ? 'object' : 'string' } },
  }
}

const textOf = (one: string | FactItem): string =>
  typeof one === 'string' ? one : String(one['text'])
const distinct = (texts: readonly string[]): string[] => [...new Set(texts)]

/** Names that callers use for the members of an entity or an aspect. */
const MEMBERS: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^(?:text|name|entity|value|mention|surface|aspect|word|keyword|term)$/, ['text']],
  [/^(?:type|kind|category|label|entity type)$/, ['type', 'sentiment']],
  [/^(?:sentiment|polarity)$/, ['sentiment']],
  [/^(?:start|begin|offset|start offset|position)$/, ['start']],
  [/^(?:end|end offset)$/, ['end']],
  [/^(?:confidence|probability)$/, ['confidence']],
  [/^score$/, ['score', 'confidence']],
  [/^(?:iso|date|normalized|normalised)$/, ['iso', 'number']],
  [/^(?:amount|number)$/, ['number']],
  [/^(?:currency|unit|subtype|granularity|relative|count)$/, []],
]

const members = (
  one: string | FactItem,
  shape: Shape,
  path: string,
  filling: FillState,
): Readonly<Record<string, unknown>> => {
  const thing: FactItem = typeof one === 'string' ? { text: one } : one
  return Object.fromEntries(
    (shape.properties ?? []).map(([key, inner]) => {
      const name = normalizeName(key)
      const member = MEMBERS.find(([pattern]) => pattern.test(name))
      const source = [...(member?.[1] ?? []), ...(member === undefined ? [] : [name])].find(
        (name) => Object.hasOwn(thing, name),
      )
      const given = source === undefined ? undefined : thing[source]
      const iso = thing['iso']
      const fact =
        inner.day === undefined || typeof iso !== 'string' ? given : formatDay(iso, inner.day)
      const filled = fact === undefined ? undefined : scalar(fact, inner)
      if (filled === undefined) filling.unresolved.push(`${path}/${key}`)
      return [key, filled?.value ?? null]
    }),
  )
}

const memberSchema = (shape: Shape): Json => {
  const properties = shape.properties ?? []
  return {
    type: 'object',
    properties: Object.fromEntries(
      properties.map(([key, inner]) => [key, { anyOf: [schemaOf(inner), { type: 'null' }] }]),
    ),
    required: properties.map(([key]) => key),
    additionalProperties: false,
  }
}

const schemaOf = (shape: Shape): Json => {
  if (shape.kind === 'any') return {}
  if (shape.kind === 'object') return memberSchema(shape)
  const { kind, choices, minimum, maximum } = shape
  return {
    type: kind,
    ...(choices === undefined ? {} : { enum: choices }),
    ...(minimum === undefined ? {} : { minimum }),
    ...(maximum === undefined ? {} : { maximum }),
    ...(shape.day === 'YYYY-MM-DD' ? { format: 'date' } : {}),
    ...(kind === 'array' && shape.items !== undefined ? { items: schemaOf(shape.items) } : {}),
  }
}
