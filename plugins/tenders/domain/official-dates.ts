import table from '../data/months.json' with { type: 'json' }

/** A day that a text names; `year` is null if it has none. */
export interface NamedDay {
  readonly year: string | null
  /** `10-31` */
  readonly monthDay: string
}

const MONTHS_MAX = 12
const DAYS_MAX = 31
/** `31.10.2024`, `31/10/24`, `31-10-2024`. */
const DAY_FIRST =
  /(?<!\d)(\d{1,2})[ ]?[./-][ ]?(\d{1,2})[ ]?[./-][ ]?(\d{4}|\d{2})(?![\d]|[./-]\d)/g
/** `2024-10-31`, `2024.10.31`, `2024/10/31`. */
const YEAR_FIRST = /(?<!\d)(\d{4})[ ]?[./-][ ]?(\d{1,2})[ ]?[./-][ ]?(\d{1,2})(?!\d)/g
/** `31 10 2024`. */
const SPACED = /(?<![\d.,:])(\d{1,2}) (\d{1,2}) (20\d{2})(?!\d)/g
/** `31. Oktober 2024`, `31 de octubre de 2024`; the year may be missing. */
const DAY_WORD =
  /(?<!\d)(\d{1,2})(?:\.|st|nd|rd|th)? ?(?:of |de )?(\p{L}{3,14})\.?,?(?: (?:de |r )?(20\d{2}))?/gu
/** `October 31, 2024`, `2024. október 31.`, `2024. gada 31. oktobrī`. */
const WORD_DAY =
  /(?:(20\d{2})\.? (?:gada )?)?(\p{L}{3,14})\.? (\d{1,2})(?!\d)(?:st|nd|th|\.)?,?(?: (20\d{2}))?/gu

/** Finds the days in a text; day before month, as in Europe. */
export function daysIn(text: string, language = ''): NamedDay[] {
  const plain = text.replaceAll(/\s/gu, ' ')
  const found = [
    ...[...plain.matchAll(DAY_FIRST)].map(([, day, month, year]) => dayOf(year, month, day)),
    ...[...plain.matchAll(YEAR_FIRST)].map(([, year, month, day]) => dayOf(year, month, day)),
    ...[...plain.matchAll(SPACED)].map(([, day, month, year]) => dayOf(year, month, day)),
    ...[...plain.matchAll(DAY_WORD)].map(([, day, word, year]) =>
      dayOf(year, monthOf(word, language), day),
    ),
    ...[...plain.matchAll(WORD_DAY)].map(([, before, word, day, after]) =>
      dayOf(after ?? before, monthOf(word, language), day),
    ),
  ]
  return found.filter((day) => day !== undefined)
}

function dayOf(
  year: string | undefined,
  month: string | undefined,
  day: string | undefined,
): NamedDay | undefined {
  const isDay = Number(day) >= 1 && Number(day) <= DAYS_MAX
  if (!isDay || !(Number(month) >= 1 && Number(month) <= MONTHS_MAX)) return undefined
  const full = year?.length === 2 ? `20${year}` : year
  const pad = (part: string | undefined): string => (part ?? '').padStart(2, '0')
  return { year: full ?? null, monthDay: `${pad(month)}-${pad(day)}` }
}

/** Number of the month that a word names; undefined if it is none. */
function monthOf(word: string | undefined, language: string): string | undefined {
  const lower = (word ?? '').toLowerCase()
  if (lower.startsWith('listopad')) return language === 'hrv' ? '10' : '11'
  let best = { length: 0, month: 0 }
  for (const [at, stems] of table.months.entries()) {
    for (const stem of stems) {
      if (stem.length > best.length && lower.startsWith(stem)) {
        best = { length: stem.length, month: at + 1 }
      }
    }
  }
  return best.month === 0 ? undefined : String(best.month)
}

/** Returns true if a named day is a day like `2024-10-31`. */
export const isDay = ({ year, monthDay }: NamedDay, day: string): boolean =>
  day.slice(5) === monthDay && (year === null || day.startsWith(year))
