import { type AmountValue, findAmounts } from './amounts.ts'
import { parseDay } from './calendar.ts'
import { confidenceAt } from './calibration.ts'
import { findDates } from './dates.ts'
import type { Document, EntitiesTask, Entity, EntityType } from './engine.ts'
import { isForeign } from './language.ts'
import { findNames } from './names.ts'
import { withoutOverlaps } from './overlaps.ts'
import type { Weights } from './tagger/decode.ts'
import type { Sentence } from './text.ts'
import type { Span } from './tokens.ts'

/** Sorted by start, without overlaps. In unsupported languages, only dates and amounts. */
export const extractEntities = (
  { text, language }: Document,
  sentences: readonly Sentence[],
  { types, referenceDate }: EntitiesTask,
  tagger?: Weights,
): Entity[] => {
  const reference = referenceDate === undefined ? undefined : parseDay(referenceDate)
  const dates = findDates(text, reference).map(
    ({ start, end, value, rule }): Entity =>
      entity(text, { start, end }, 'date', confidenceAt(rule, 1), { ...value }),
  )
  const amounts = findAmounts(text).map(
    ({ start, end, subtype, value }): Entity => ({
      ...entity(text, { start, end }, 'amount', confidenceAt(subtype, 1), valueOf(value)),
      subtype,
    }),
  )
  const names = isForeign(language) ? [] : findNames(text, sentences, tagger)
  const named = names.map(({ start, end, type, confidence }) =>
    entity(text, { start, end }, type, confidence),
  )
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
  confidence: number,
  value?: Entity['value'],
): Entity => ({
  text: text.slice(start, end),
  type,
  start,
  end,
  confidence,
  ...(value === undefined ? {} : { value }),
})

const valueOf = (value: AmountValue): NonNullable<Entity['value']> => ({ ...value })
