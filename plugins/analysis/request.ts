import { Refusal } from 'agenthub/plugin'
import { parseDay } from './calendar.ts'
import {
  type Category,
  type ClassifyTask,
  type Document,
  ENTITY_TYPES,
  type EntityType,
  type Task,
} from './engine.ts'
import { readFormat } from './format.ts'
import { detectLanguage } from './language.ts'
import type { AnalyzeInput, ClassifyInput, EntitiesInput, SentimentInput } from './schemas.ts'
import { type OffsetUnit, offsetsIn, wellFormed } from './text.ts'

/** One call to an engine or worker; its input satisfies the declared schema. */
export type Request = { readonly id: string } & (
  | { readonly endpoint: 'analyze'; readonly input: AnalyzeInput }
  | { readonly endpoint: 'classify'; readonly input: ClassifyInput }
  | { readonly endpoint: 'extract-entities'; readonly input: EntitiesInput }
  | { readonly endpoint: 'sentiment'; readonly input: SentimentInput }
)

/** A validated call, including the checks that a schema cannot express. */
export interface ParsedRequest {
  readonly id: string
  readonly endpoint: Request['endpoint']
  /** Text as sent; `document.text` is the same without lone surrogates. */
  readonly rawText: string
  readonly document: Document
  readonly unit: OffsetUnit
  /** Turns a UTF-16 index into the caller's unit. */
  readonly offset: (index: number) => number
  readonly task: Task
}

/** @throws Refusal if no engine could serve the request */
export const readRequest = (request: Request): ParsedRequest => {
  const { id, endpoint } = request
  const given = request.input.text
  if (given.trim() === '') throw new Refusal('empty_text', 'The text must not be blank.')
  const text = wellFormed(given)
  const unit = request.input.offset_unit ?? 'codepoint'
  const offset = offsetsIn(text, unit)
  const task = taskOf(request, offset)
  return {
    id,
    endpoint,
    rawText: given,
    document: { text, language: detectLanguage(text) },
    unit,
    offset,
    task,
  }
}

const taskOf = (request: Request, offset: ParsedRequest['offset']): Task => {
  const { endpoint, input } = request
  switch (endpoint) {
    case 'extract-entities':
      return {
        kind: 'entities',
        types: typesOf(input.entity_types ?? []),
        ...referenceDateOf(input),
      }
    case 'sentiment':
      return { kind: 'sentiment' }
    case 'classify':
      return { kind: 'classify', ...classifyTaskOf(input) }
    case 'analyze': {
      const { instructions } = input
      const format = readFormat(input.output_format)
      return { kind: 'analyze', instructions, format, offset, ...referenceDateOf(input) }
    }
  }
}

/** Validates the reference date; the schema checks only its format. */
const referenceDateOf = ({
  reference_date: date,
}: Pick<EntitiesInput, 'reference_date'>): { readonly referenceDate?: string } => {
  if (date === undefined) return {}
  if (date.length === 10 && parseDay(date) !== undefined) return { referenceDate: date }
  throw new Refusal('invalid_reference_date', 'reference_date must be a day such as 2026-11-21.')
}

const ALIASES = new Map<string, EntityType>([
  ['people', 'person'],
  ['per', 'person'],
  ['org', 'organization'],
  ['company', 'organization'],
  ['companies', 'organization'],
  ['organisation', 'organization'],
  ['organisations', 'organization'],
  ['loc', 'location'],
  ['place', 'location'],
  ['places', 'location'],
  ...ENTITY_TYPES.flatMap((type): [string, EntityType][] => [
    [type, type],
    [`${type}s`, type],
  ]),
])

/** Resolves the requested entity types, singular or plural and in any case; all if empty. */
const typesOf = (names: readonly string[]): ReadonlySet<EntityType> => {
  if (names.length === 0) return new Set(ENTITY_TYPES)
  return new Set(
    names.map((name) => {
      const type = ALIASES.get(name.trim().toLowerCase())
      if (type !== undefined) return type
      throw new Refusal('unsupported_entity_type', `Unknown entity type '${name}'.`, {
        allowed: ENTITY_TYPES,
      })
    }),
  )
}

const classifyTaskOf = (input: ClassifyInput): ClassifyTask => {
  const multiLabel = input.multi_label ?? false
  return {
    categories: categoriesOf(input.categories, multiLabel),
    multiLabel,
    allowNone: input.allow_none ?? false,
  }
}

const categoriesOf = (
  given: ClassifyInput['categories'],
  multiLabel: boolean,
): readonly Category[] => {
  const categories = given.map((one) => (typeof one === 'string' ? { name: one } : one))
  const names = categories.map(({ name }) => name.normalize('NFC').trim())
  const fewest = multiLabel ? 1 : 2
  if (names.length < fewest) {
    throw new Refusal('invalid_categories', `At least ${fewest} categories are required.`)
  }
  if (names.includes('')) throw new Refusal('invalid_categories', 'A category has no name.')
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) {
    throw new Refusal('invalid_categories', `The category '${twice}' is given twice.`)
  }
  return categories
}
