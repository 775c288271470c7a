import { performance } from 'node:perf_hooks'
import { Refusal } from 'agenthub/plugin'
import {
  type Category,
  type Document,
  ENTITY_TYPES,
  type Engine,
  type Entity,
  type EntityType,
  type Sentiment,
} from './engine.ts'
import { detectLanguage, type Language } from './language.ts'
import type { AnalyzeInput, ClassifyInput, EntitiesInput, SentimentInput } from './schemas.ts'
import { type OffsetUnit, offsetsIn, wellFormed } from './text.ts'

/** One call, as it is handed to a worker. */
export type Request = { readonly id: string } & (
  | { readonly endpoint: 'analyze'; readonly input: AnalyzeInput }
  | { readonly endpoint: 'classify'; readonly input: ClassifyInput }
  | { readonly endpoint: 'extract-entities'; readonly input: EntitiesInput }
  | { readonly endpoint: 'sentiment'; readonly input: SentimentInput }
)

interface Warning {
  readonly code: string
  readonly message: string
}

type Offset = (index: number) => number

/**
 * Answers one call with an engine: the envelope that all endpoints share, and their result.
 * Throws a `Refusal` for what the engine cannot serve.
 */
export const answer = (engine: Engine, request: Request): Record<string, unknown> => {
  const began = performance.now()
  const given = request.input.text
  if (given.trim() === '') throw new Refusal('empty_text', 'The text must not be blank.')
  const text = wellFormed(given)
  const document = { text, language: detectLanguage(text) }
  const unit = request.input.offset_unit ?? 'codepoint'
  const result = resultOf(engine, request, document, offsetsIn(text, unit))
  return {
    id: request.id,
    endpoint: request.endpoint,
    language: document.language,
    input: {
      bytes: Buffer.byteLength(text),
      characters: offsetsIn(text, 'codepoint')(text.length),
      truncated: false,
    },
    offset_unit: unit satisfies OffsetUnit,
    engine: engine.about,
    warnings: warningsOf(given, document.language),
    usage: {
      input_tokens: null,
      output_tokens: null,
      latency_ms: Math.round(performance.now() - began),
    },
    result,
  }
}

const resultOf = (
  engine: Engine,
  request: Request,
  document: Document,
  offset: Offset,
): unknown => {
  const { endpoint, input } = request
  const dated =
    'reference_date' in input && input.reference_date !== undefined
      ? { referenceDate: input.reference_date }
      : {}
  switch (endpoint) {
    case 'extract-entities': {
      const types = typesOf(input.entity_types ?? [])
      return entitiesResult(engine.entities(document, { types, ...dated }), types, offset)
    }
    case 'sentiment':
      return sentimentResult(engine.sentiment(document), offset)
    case 'classify': {
      const multiLabel = input.multi_label ?? false
      const categories = categoriesOf(input.categories, multiLabel)
      const allowNone = input.allow_none ?? false
      const classified = engine.classify(document, { categories, multiLabel, allowNone })
      return { ...classified, top: classified.labels[0] ?? null, multi_label: multiLabel }
    }
    case 'analyze': {
      const { instructions, output_format: outputFormat } = input
      return engine.analyze(document, { instructions, outputFormat, offset, ...dated })
    }
  }
}

const PLURALS = new Map<string, EntityType>([
  ['people', 'person'],
  ['company', 'organization'],
  ['companies', 'organization'],
  ['organisation', 'organization'],
  ['organisations', 'organization'],
  ['place', 'location'],
  ['places', 'location'],
  ...ENTITY_TYPES.flatMap((type): [string, EntityType][] => [
    [type, type],
    [`${type}s`, type],
  ]),
])

/** The types that are asked for, in any number and case; all of them for an empty list. */
const typesOf = (names: readonly string[]): ReadonlySet<EntityType> => {
  if (names.length === 0) return new Set(ENTITY_TYPES)
  return new Set(
    names.map((name) => {
      const type = PLURALS.get(name.trim().toLowerCase())
      if (type !== undefined) return type
      throw new Refusal('unsupported_entity_type', `There are no entities of type '${name}'.`, {
        allowed: ENTITY_TYPES,
      })
    }),
  )
}

const categoriesOf = (
  given: ClassifyInput['categories'],
  multiLabel: boolean,
): readonly Category[] => {
  const categories = given.map((one) => (typeof one === 'string' ? { name: one } : one))
  const names = categories.map(({ name }) => name.normalize('NFC').trim())
  const fewest = multiLabel ? 1 : 2
  if (names.length < fewest) {
    throw new Refusal('invalid_categories', `Give ${fewest} categories or more.`)
  }
  if (names.includes('')) throw new Refusal('invalid_categories', 'A category has no name.')
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) {
    throw new Refusal('invalid_categories', `The category '${twice}' is given twice.`)
  }
  return categories
}

const entitiesResult = (
  entities: readonly Entity[],
  types: ReadonlySet<EntityType>,
  offset: Offset,
): unknown => {
  const seen = new Map<string, number>()
  const keyOf = ({ type, text }: Entity): string => `${type} ${text}`
  for (const entity of entities) seen.set(keyOf(entity), (seen.get(keyOf(entity)) ?? 0) + 1)
  return {
    entities: entities.map((entity) => ({
      ...entity,
      start: offset(entity.start),
      end: offset(entity.end),
      count_in_text: seen.get(keyOf(entity)) ?? 1,
    })),
    counts: Object.fromEntries(
      [...types].map((type) => [type, entities.filter((entity) => entity.type === type).length]),
    ),
  }
}

const sentimentResult = ({ sentences, aspects, ...rest }: Sentiment, offset: Offset): unknown => {
  const moved = <T extends { start: number; end: number }>(span: T): T => ({
    ...span,
    start: offset(span.start),
    end: offset(span.end),
  })
  return {
    ...rest,
    sentences: sentences.map(moved),
    aspects: aspects.map((aspect) => ({
      ...aspect,
      mentions: aspect.mentions.map(moved),
      evidence: aspect.evidence.map(moved),
    })),
  }
}

const warningsOf = (given: string, { code, supported }: Language): Warning[] => [
  ...(given.isWellFormed()
    ? []
    : [
        {
          code: 'lone_surrogates_replaced',
          message: 'Lone surrogates were replaced by U+FFFD; no offset moved.',
        },
      ]),
  ...(supported
    ? []
    : [
        {
          code: code === 'und' ? 'language_unknown' : 'language_unsupported',
          message:
            code === 'und'
              ? 'The language could not be told; this engine reads English.'
              : `The text seems to be in '${code}'; this engine reads English. Of entities, only ` +
                'dates and amounts are given.',
        },
      ]),
]
