import { type Day, isDay, isoDay, isoMonth } from './calendar.ts'
import { LEFT, NUMBER_WORDS, numberOf } from './numbers.ts'
import { type DateValue, relativeUnit, relativeWeekday, relativeWord, shift } from './relative.ts'
import type { Span } from './tokens.ts'

export type { DateValue } from './relative.ts'

/** A date, a period or a duration. `rule` names the grammar rule, whose precision is measured. */
export interface DateSpan extends Span {
  readonly value: DateValue
  readonly rule: string
}

type Groups = Readonly<Record<string, string | undefined>>
interface Rule {
  readonly name: string
  readonly pattern: RegExp
  readonly read: (groups: Groups, reference: Day | undefined) => DateValue | undefined
}

const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
const WEEKDAYS = 'mon tue wed thu fri sat sun'.split(' ')
const MONTH =
  '(?<month>Jan(?:uary|\\.)?|Feb(?:ruary|\\.)?|Mar(?:ch|\\.)?|Apr(?:il|\\.)?|May|June?|July?' +
  '|Aug(?:ust|\\.)?|Sept?(?:ember|\\.)?|Oct(?:ober|\\.)?|Nov(?:ember|\\.)?|Dec(?:ember|\\.)?)'
const LONG_MONTH = '(?<month>January|February|April|June|July|September|October|November|December)'
const WEEKDAY = '(?<weekday>Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day'
const DAY = '(?<day>\\d{1,2})(?:st|nd|rd|th)?'
const YEAR = '(?<year>[12]\\d{3})(?!\\d)'
const PART = '(?:(?:early|late|mid)[ -])?'
const UNIT = '(?<unit>day|week|weekend|month|quarter|year|decade|century|hour|minute|second)'
const COUNT = `(?<count>\\d{1,4}|${NUMBER_WORDS}|an?|a few|several|a couple of|many)`
const CLOCK = '\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,9})?)?'
const TO_DAY = '(?: ?[-–] ?(?<last>\\d{1,2})(?!\\d))?'
const BEFORE_MONTH =
  '(?<=(?:[Ii]n|[Ss]ince|[Bb]y|[Uu]ntil|of|from|to|through|during|early|late|last|next|this) )'
const END = '(?![\\p{L}\\p{N}])'

/** Nouns after a four-digit number that is not a year. */
const COUNTED_NOUNS =
  'people|men|women|children|dollars|euros|pounds|percent|per|million|miles?|km|m|kg|tons?|tonnes'

const monthOf = (written = ''): number => MONTHS.indexOf(written.slice(0, 3).toLowerCase()) + 1
const weekdayNumber = (written = ''): number =>
  WEEKDAYS.indexOf(written.slice(0, 3).toLowerCase()) + 1

/** Reads a named day. Without a year it is relative and needs a reference date. */
const namedDay = ({ year, month, day, last }: Groups, reference: Day | undefined) => {
  const on = Number(day)
  if (on < 1 || on > 31) return undefined
  const inYear = year === undefined ? reference?.year : Number(year)
  const base = { granularity: 'day', relative: year === undefined } as const
  if (inYear === undefined) return base
  const at = { year: inYear, month: monthOf(month), day: on }
  if (!isDay(at)) return base
  const to = last === undefined ? '' : `/${isoDay({ ...at, day: Number(last) })}`
  return { ...base, iso: isoDay(at) + to }
}

/** Reads a numeric date; an ambiguous one such as `03/04/2020` has no `iso`. */
const numericDay = ({ first, second, year }: Groups): DateValue | undefined => {
  const [a, b, y] = [Number(first), Number(second), Number(year)]
  const inYear = (year ?? '').length === 2 ? (y < 50 ? 2000 + y : 1900 + y) : y
  const dayFirst = { year: inYear, month: b, day: a }
  const monthFirst = { year: inYear, month: a, day: b }
  const readings = [dayFirst, monthFirst].filter(isDay).map(isoDay)
  if (readings.length === 0) return undefined
  const base = { granularity: 'day', relative: false } as const
  const [iso] = new Set(readings)
  return new Set(readings).size === 1 && iso !== undefined ? { ...base, iso } : base
}

const ORDINALS = ['first', 'second', 'third', 'fourth']
const partOfYear = ({ n, word, kind, year }: Groups): DateValue => {
  const number = n === undefined ? ORDINALS.indexOf((word ?? '').toLowerCase()) + 1 : Number(n)
  const half = /^h/i.test(kind ?? '')
  const base = { granularity: half ? 'half' : 'quarter', relative: year === undefined } as const
  const isComplete = year !== undefined && number > 0
  return isComplete ? { ...base, iso: `${year}-${half ? 'H' : 'Q'}${number}` } : base
}

const absolute = (granularity: DateValue['granularity'], iso: string): DateValue => ({
  iso,
  granularity,
  relative: false,
})

const DURATIONS: Readonly<Record<string, string>> = {
  day: 'D',
  week: 'W',
  month: 'M',
  year: 'Y',
  decade: '0Y',
  hour: 'TH',
  minute: 'TM',
  second: 'TS',
}
const duration = ({ count = '', unit = '' }: Groups): DateValue => {
  const base = { granularity: 'duration', relative: false } as const
  const number = /^an?$/i.test(count) ? 1 : numberOf(count)
  const code = DURATIONS[unit.toLowerCase()]
  if (code === undefined || !(number > 0)) return base
  return {
    ...base,
    iso: code.startsWith('T') ? `PT${number}${code.charAt(1)}` : `P${number}${code}`,
  }
}

const rule = (name: string, source: string, read: Rule['read'], flags = 'giu'): Rule => ({
  name,
  pattern: new RegExp(LEFT + source + END, flags),
  read,
})

const RULES: readonly Rule[] = [
  rule(
    'iso',
    `(?<date>\\d{4}-\\d{2}-\\d{2})(?<time>[T ]${CLOCK}(?:Z|[+-]\\d{2}:?\\d{2})?)?`,
    ({ date = '', time }) => {
      const [year = 0, month = 0, day = 0] = date.split('-').map(Number)
      if (!isDay({ year, month, day })) return undefined
      const iso = date + (time ?? '').replace(' ', 'T')
      return absolute(time === undefined ? 'day' : 'instant', iso)
    },
  ),
  rule(
    'day',
    `(?:${WEEKDAY},? )?(?:the )?${DAY}(?: day)?(?: of)?[ -]${MONTH}(?:,?[ -]${YEAR})?`,
    namedDay,
  ),
  rule('day', `(?:${WEEKDAY},? )?${MONTH} ${DAY}(?!\\d)${TO_DAY}(?:,? ${YEAR})?`, namedDay),
  rule('month', `${PART}${MONTH}(?: of)?,? ${YEAR}`, ({ month, year }) =>
    absolute('month', isoMonth(Number(year), monthOf(month))),
  ),
  rule(
    'numeric',
    '(?<first>\\d{1,2})(?<sep>[/.])(?<second>\\d{1,2})\\k<sep>(?<year>\\d{4}|\\d{2})',
    numericDay,
  ),
  rule('quarter', `(?<kind>[QH])(?<n>[1-4])(?:[ /-]?(?:of )?(?:FY ?)?${YEAR})?`, partOfYear, 'gu'),
  rule(
    'quarter',
    `(?:the )?(?<word>first|second|third|fourth|last) (?:quarter|(?<kind>half))(?: of)? ${YEAR}`,
    partOfYear,
  ),
  rule(
    'season',
    `(?:the )?${PART}(?<season>spring|summer|autumn|fall|winter)(?: of)? ${YEAR}`,
    ({ year = '' }) => ({
      granularity: 'season',
      relative: false,
      iso: year,
    }),
  ),
  rule('decade', `(?:the )?${PART}(?<decade>(?:1[0-9]|20)\\d)0['’]?s`, ({ decade }) =>
    absolute('decade', `${decade}X`),
  ),
  rule(
    'century',
    '(?:the )?(?:(?:early|late|mid)[ -])?(?<n>\\d{1,2})(?:st|nd|rd|th)[ -]century',
    ({ n }) => absolute('century', `${String(Number(n) - 1).padStart(2, '0')}XX`),
  ),
  rule('years', '(?<from>(?:1\\d|20)\\d{2})[-–/](?<to>(?:1\\d|20)\\d{2})', ({ from, to }) =>
    absolute('year', `${from}/${to}`),
  ),
  rule(
    'year',
    `(?<![$€£¥#] ?)${PART}(?<year>(?:1[4-9]|20)\\d{2})` +
      `(?![-–,.:/]\\d|-\\p{L}| ?[%€£$°]| (?:${COUNTED_NOUNS}))`,
    ({ year = '' }) => absolute('year', year),
  ),
  rule(
    'relative',
    '(?<word>the day (?:before yesterday|after tomorrow)|yesterday|today|tomorrow|tonight)',
    ({ word = '' }, reference) => relativeWord(word.toLowerCase(), reference),
  ),
  rule(
    'relative',
    `(?:the )?(?<which>last|next|this|previous|past|following|coming|current|same) ${UNIT}`,
    ({ which = '', unit = '' }, reference) =>
      relativeUnit(which.toLowerCase(), unit.toLowerCase(), reference),
  ),
  rule(
    'weekday',
    `(?:(?<which>last|next|this) )?${WEEKDAY}(?: (?:morning|afternoon|evening|night))?`,
    ({ which = '', weekday }, reference) =>
      relativeWeekday(which.toLowerCase(), weekdayNumber(weekday), reference),
  ),
  rule(
    'relative',
    `(?<in>in )?${COUNT} ${UNIT}s? (?<way>ago|earlier|later|from now|before|after)`,
    ({ count = '', unit = '', way = '' }, reference) =>
      shift(
        numberOf(count),
        unit.toLowerCase(),
        /ago|earlier|before/i.test(way) ? -1 : 1,
        reference,
      ),
  ),
  rule(
    'duration',
    `(?:the )?(?:(?:past|last|next|coming|previous|first) )?${COUNT} ${UNIT}s?`,
    duration,
  ),
  rule('month-alone', `(?:(?:early|late|mid|last|next|this)[ -])?${LONG_MONTH}`, monthAlone, 'gu'),
  rule('month-alone', `${BEFORE_MONTH}(?<month>May|March|August)`, monthAlone, 'gu'),
]

function monthAlone({ month }: Groups, reference: Day | undefined): DateValue {
  const base = { granularity: 'month', relative: true } as const
  return reference === undefined ? base : { ...base, iso: isoMonth(reference.year, monthOf(month)) }
}

/** Finds all dates of `text`, in order and without overlaps; the longest match wins. */
export const findDates = (text: string, reference?: Day): DateSpan[] => {
  const found = RULES.flatMap(({ name, pattern, read }) =>
    Array.from(text.matchAll(pattern)).flatMap((match): DateSpan[] => {
      const value = read(match.groups ?? {}, reference)
      const end = match.index + match[0].length
      return value === undefined ? [] : [{ start: match.index, end, value, rule: name }]
    }),
  )
  found.sort((a, b) => a.start - b.start || b.end - a.end)
  let lastEnd = 0
  return found.filter(({ start, end }) => {
    if (start < lastEnd) return false
    lastEnd = end
    return true
  })
}
