import { findAmounts } from '../amounts.ts'
import { parseDay } from '../calendar.ts'
import { findDates } from '../dates.ts'
import type { EntitiesTask, Entity, EntityType } from '../engine.ts'
import type { Span } from '../tokens.ts'
import { finderIn } from './ground.ts'
import { type Judgement, part, type Question, rounded, versionOf } from './question.ts'

const GUIDE =
  'You list the named entities of a text. Types: person (names of people), organization ' +
  '(companies, institutions, teams, parties), location (places, addresses, countries), date ' +
  '(dates, times and periods, relative ones such as "last week" too), amount (money, ' +
  'percentages, quantities with their unit, counts), product (named products, services, works' +
  ' and models). List only the types that the user asks for, in the order of the text; a name' +
  ' that comes several times once, with titles such as "Dr." left out. No pronouns, no common' +
  ' nouns. An empty list is a good answer.'

const NAMES_MAX = 400

interface Named {
  readonly text: string
  readonly type: EntityType
  readonly confidence: number
}

const schemaOf = (types: readonly string[]) =>
  part.object({
    entities: part.list(
      part.object({ text: part.words, type: { enum: types }, confidence: part.share }),
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
    judge: (value) => place(text, (value as { entities: readonly Named[] }).entities, task),
  }
}

/**
 * Finds in the text what the model names. It never says where; a name that is not there is left
 * out, and an answer that is mostly made up is none.
 */
const place = (
  text: string,
  named: readonly Named[],
  task: EntitiesTask,
): Judgement<readonly Entity[]> => {
  const finder = finderIn(text)
  const bySurface = Map.groupBy(named, (one) => one.text.trim())
  const made: string[] = []
  const found = [...bySurface].flatMap(([surface, items]) => {
    const places = finder.all(surface)
    if (places.length === 0) made.push(surface)
    return spread(places, items)
  })
  if (made.length > 2 && made.length > bySurface.size / 2) {
    return { issues: made.slice(0, 5).map((one) => `not in the text: ${JSON.stringify(one)}`) }
  }
  const kept = withoutOverlaps(found, text.length)
  return { value: kept.map((one) => entityOf(text, one, task)), dropped: made.length }
}

interface Placed extends Span {
  readonly named: Named
}

/**
 * A name means the same wherever it stands, unless it was given several types: then each in its
 * turn. A number or a date holds only where it was named, as often as it was.
 */
const spread = (places: readonly Span[], items: readonly Named[]): readonly Placed[] => {
  const [first] = items
  const last = items.at(-1)
  if (first === undefined || last === undefined) return []
  const isName = items.every(({ type }) => type !== 'date' && type !== 'amount')
  const used = isName ? places : places.slice(0, items.length)
  return used.map((span, index) => ({ ...span, named: items[index] ?? last }))
}

/** Where two overlap the longer one stays. */
const withoutOverlaps = (placed: readonly Placed[], length: number): readonly Placed[] => {
  const taken = new Uint8Array(length)
  return placed
    .toSorted((a, b) => b.end - b.start - (a.end - a.start) || a.start - b.start)
    .filter(({ start, end }) => {
      if (taken.subarray(start, end).includes(1)) return false
      taken.fill(1, start, end)
      return true
    })
    .toSorted((a, b) => a.start - b.start)
}

const entityOf = (
  text: string,
  { start, end, named: { type, confidence } }: Placed,
  task: EntitiesTask,
): Entity => {
  const surface = text.slice(start, end)
  const entity = { text: surface, type, start, end, confidence: rounded(confidence) }
  return { ...entity, ...valueOf(surface, type, task) }
}

/** Values are reckoned by the house's own grammar: a model's arithmetic is not to be trusted. */
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

/** What the pieces of a text have, as of the whole: what two of them share is there once. */
export const mergeEntities = (
  text: string,
  pieces: readonly { readonly start: number; readonly entities: readonly Entity[] }[],
): readonly Entity[] => {
  const moved = pieces.flatMap(({ start, entities }) =>
    entities.map((one) => ({ ...one, start: one.start + start, end: one.end + start })),
  )
  const taken = new Uint8Array(text.length)
  return moved
    .toSorted((a, b) => b.end - b.start - (a.end - a.start) || b.confidence - a.confidence)
    .filter(({ start, end }) => {
      if (taken.subarray(start, end).includes(1)) return false
      taken.fill(1, start, end)
      return true
    })
    .toSorted((a, b) => a.start - b.start)
}
