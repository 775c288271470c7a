import { findAmounts } from '../amounts.ts'
import { parseDay } from '../calendar.ts'
import { findDates } from '../dates.ts'
import type { EntitiesTask, Entity, EntityType } from '../engine.ts'
import { byLength, withoutOverlaps } from '../overlaps.ts'
import type { Span } from '../tokens.ts'
import {
  type Judgment,
  type Question,
  roundToThousandths,
  schemaPart,
  versionOf,
} from './question.ts'
import { spanFinder } from './span-finder.ts'

const GUIDE =
  'You list the named entities of a text. Types: person (names of people), organization ' +
  '(companies, institutions, teams, parties), location (places, addresses, countries), date ' +
  '(dates, times and periods, relative ones such as "last week" too), amount (money, ' +
  'percentages, quantities with their unit, counts), product (named products, services, works' +
  ' and models). List only the types that the user asks for, in the order of the text; a name' +
  ' that comes several times once, with titles such as "Dr." left out. No pronouns, no common' +
  ' nouns. An empty list is a good answer.'

const NAMES_MAX = 400

interface NamedEntity {
  readonly text: string
  readonly type: EntityType
  readonly confidence: number
}

const schemaOf = (types: readonly string[]) =>
  schemaPart.object({
    entities: schemaPart.list(
      schemaPart.object({
        text: schemaPart.words,
        type: { enum: types },
        confidence: schemaPart.share,
      }),
      NAMES_MAX,
    ),
  })

export const ENTITIES_VERSION = versionOf(GUIDE, schemaOf([]))

export const entitiesQuestion = (text: string, task: EntitiesTask): Question<readonly Entity[]> => {
  const types = [...task.types]
  return {
    guide: GUIDE,
    details: { types, ...(task.referenceDate !== undefined && { today: task.referenceDate }) },
    text,
    schema: schemaOf(types),
    expectedTokens: 100 + Math.ceil(text.length / 16),
    judge: (value) => locate(text, (value as { entities: readonly NamedEntity[] }).entities, task),
  }
}

/** Drops names that are not in the text; if most are missing, the output is invalid. */
const locate = (
  text: string,
  named: readonly NamedEntity[],
  task: EntitiesTask,
): Judgment<readonly Entity[]> => {
  const finder = spanFinder(text)
  const bySurface = Map.groupBy(named, (one) => one.text.trim())
  const missing: string[] = []
  const found = [...bySurface].flatMap(([surface, items]) => {
    const places = finder.all(surface)
    if (places.length === 0) missing.push(surface)
    return assignPlaces(places, items)
  })
  if (missing.length > 2 && missing.length > bySurface.size / 2) {
    return { issues: missing.slice(0, 5).map((one) => `not in the text: ${JSON.stringify(one)}`) }
  }
  const longest = found.toSorted((a, b) => byLength(a, b) || a.start - b.start)
  const distinct = withoutOverlaps(longest, text.length)
  return { value: distinct.map((one) => entityOf(text, one, task)), dropped: missing.length }
}

interface LocatedEntity extends Span {
  readonly named: NamedEntity
}

/** All occurrences get the same type, unless the model gave several, which are used in order. */
const assignPlaces = (
  places: readonly Span[],
  items: readonly NamedEntity[],
): readonly LocatedEntity[] => {
  const [first] = items
  const last = items.at(-1)
  if (first === undefined || last === undefined) return []
  const isName = items.every(({ type }) => type !== 'date' && type !== 'amount')
  const used = isName ? places : places.slice(0, items.length)
  return used.map((span, index) => ({ ...span, named: items[index] ?? last }))
}

const entityOf = (
  text: string,
  { start, end, named: { type, confidence } }: LocatedEntity,
  task: EntitiesTask,
): Entity => {
  const surface = text.slice(start, end)
  const entity = { text: surface, type, start, end, confidence: roundToThousandths(confidence) }
  return { ...entity, ...valueOf(surface, type, task) }
}

/** Computes values with the platform's own grammar because a model's arithmetic is unreliable. */
const valueOf = (
  surface: string,
  type: EntityType,
  { referenceDate }: EntitiesTask,
): Pick<Entity, 'subtype' | 'value'> => {
  const isAll = ({ start, end }: Span): boolean => start === 0 && end === surface.length
  if (type === 'date') {
    const reference = referenceDate === undefined ? undefined : parseDay(referenceDate)
    const date = findDates(surface, reference).find(isAll)
    return date === undefined ? {} : { value: { ...date.value } }
  }
  const amount = type === 'amount' ? findAmounts(surface).find(isAll) : undefined
  return amount === undefined ? {} : { subtype: amount.subtype, value: { ...amount.value } }
}

/** Merges the entities of all chunks; an entity in the overlap of two chunks is included once. */
export const mergeEntities = (
  text: string,
  pieces: readonly { readonly start: number; readonly entities: readonly Entity[] }[],
): readonly Entity[] => {
  const shifted = pieces.flatMap(({ start, entities }) =>
    entities.map((one) => ({ ...one, start: one.start + start, end: one.end + start })),
  )
  const longest = shifted.toSorted((a, b) => byLength(a, b) || b.confidence - a.confidence)
  return withoutOverlaps(longest, text.length)
}
