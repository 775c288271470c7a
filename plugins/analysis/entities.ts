import { type AmountValue, findAmounts } from './amounts.ts'
import { parseDay } from './calendar.ts'
import precision from './data/precision.json' with { type: 'json' }
import { findDates } from './dates.ts'
import type { Document, EntitiesTask, Entity, EntityType } from './engine.ts'
import { findNames } from './names.ts'
import type { Sentence, Span } from './text.ts'

const PRECISION = new Map<string, number>(Object.entries(precision.rules))
/** What is said of a rule that the development texts do not exercise. */
const UNMEASURED = 0.5

/**
 * The entities of a document, by start, none overlapping another. In a language that the
 * engine does not read, dates and amounts only.
 */
export const extractEntities = (
  { text, language }: Document,
  sentences: readonly Sentence[],
  { types, referenceDate }: EntitiesTask,
): Entity[] => {
  const reference = referenceDate === undefined ? undefined : parseDay(referenceDate)
  const dates = findDates(text, reference).map(
    ({ start, end, value, rule }): Entity =>
      entity(text, { start, end }, 'date', rule, { ...value }),
  )
  const amounts = findAmounts(text).map(
    ({ start, end, subtype, value }): Entity => ({
      ...entity(text, { start, end }, 'amount', subtype, recordOf(value)),
      subtype,
    }),
  )
  const names = language.supported || language.code === 'und' ? findNames(text, sentences) : []
  const named = names.map(({ start, end, type, rule }) => entity(text, { start, end }, type, rule))
  const worded = amounts.filter(({ subtype }) => subtype !== 'number')
  const plain = amounts.filter(({ subtype }) => subtype === 'number')
  return withoutOverlaps([...dates, ...worded, ...named, ...plain], text.length).filter(
    ({ type }) => types.has(type),
  )
}

const entity = (
  text: string,
  { start, end }: Span,
  type: EntityType,
  rule: string,
  value?: Entity['value'],
): Entity => ({
  text: text.slice(start, end),
  type,
  start,
  end,
  confidence: PRECISION.get(rule) ?? UNMEASURED,
  ...(value === undefined ? {} : { value }),
})

const recordOf = (value: AmountValue): NonNullable<Entity['value']> => ({ ...value })

/** Keeps, where two overlap, the one that comes first in `ranked`. */
const withoutOverlaps = (ranked: readonly Entity[], length: number): Entity[] => {
  const taken = new Uint8Array(length)
  const kept = ranked.filter(({ start, end }) => {
    if (end <= start || taken.subarray(start, end).includes(1)) return false
    taken.fill(1, start, end)
    return true
  })
  return kept.sort((a, b) => a.start - b.start)
}
