import type { Deadline, DeadlineKind } from '../model.ts'
import { legalOffsets } from './zones.ts'

/** As XML Schema has it: not beyond 14 hours. */
const OFFSET = '(Z|[+-](?:(?:0\\d|1[0-3]):[0-5]\\d|14:00))?'
const DATE = new RegExp(`^((?:19|20|21)\\d{2})-(\\d{2})-(\\d{2})${OFFSET}$`)
const TIME = new RegExp(`^(\\d{2}):(\\d{2})(?::(\\d{2})(?:\\.\\d{1,9})?)?${OFFSET}$`)
const MINUTE = 60_000
const DAY = 86_400_000
/** Range of offsets on Earth, between which a time without offset lies. */
const EARLIEST_OFFSET = 14 * 60
const LATEST_OFFSET = -12 * 60

interface Local {
  /** The clock of the buyer, read as if it were UTC, in ms. */
  readonly ms: number
  readonly text: string
  readonly hasTime: boolean
}

/**
 * Reads the deadline that a date and a time mean for a buyer in a country (ISO alpha-3).
 * - Date and time with the same offset, or one of them with one: as published.
 * - Offsets that differ: the one that is legal in the buyer's country on that day, else the time's.
 * - Coded in UTC: `local` is the clock where the buyer is, if the country or its region has one.
 * - No offset: that of the country if it has only one, otherwise none.
 * @returns undefined for text that is no date
 */
export function deadlineOf(
  kind: DeadlineKind,
  dateRaw: string | undefined,
  timeRaw: string | undefined,
  country: string | null,
  nuts: string | null = null,
): Deadline | undefined {
  const date = DATE.exec(dateRaw?.trim() ?? '')
  if (!date) return undefined
  const time = TIME.exec(timeRaw?.trim() ?? '')
  const local = localOf(date, time)
  if (!local) return undefined
  const writtenOffsets = [time?.[4], date[4]].filter((offset) => offset !== undefined)
  const offsets = writtenOffsets.map(minutesOf)
  const legal = legalOffsets(country, local.ms)
  const conflict = offsets.length === 2 && offsets[0] !== offsets[1]
  const inferred = local.hasTime && offsets.length === 0 && legal.length === 1
  const chosen = conflict
    ? (legal.find((offset) => offsets.includes(offset)) ?? offsets[0])
    : (offsets[0] ?? (inferred ? legal[0] : undefined))
  const offset = local.hasTime ? chosen : undefined
  const shown = offset === 0 ? clockOf(local.ms, legalAt(country, nuts, local.ms)) : undefined
  const spelled = writtenOffsets[offsets.indexOf(offset ?? Number.NaN)]
  return {
    kind,
    at: offset === undefined ? null : `${local.text}${spelled === 'Z' ? 'Z' : written(offset)}`,
    local: shown ?? local.text,
    dateRaw: dateRaw ?? '',
    timeRaw: timeRaw ?? null,
    conflict,
    suspect: offset !== undefined && legal.length > 0 && !legal.includes(offset),
    inferred,
    ...spanOf(local, conflict ? offsets : offset === undefined ? [] : [offset]),
  }
}

/** Offset at an instant where the buyer is; undefined if there may be several. */
function legalAt(country: string | null, nuts: string | null, instant: number): number | undefined {
  const around = legalOffsets(country, instant, nuts)
  const right = around.filter((each) =>
    legalOffsets(country, instant + each * MINUTE, nuts).includes(each),
  )
  return right.length === 1 ? right[0] : undefined
}

/** Local time at an instant that is coded in UTC; undefined if the offset is not known. */
function clockOf(instant: number, offset: number | undefined): string | undefined {
  return offset === undefined ? undefined : textOf(instant + offset * MINUTE)
}

/** Reads a deadline; returns its text if it is no date, and nothing if there is none. */
export function deadlineOrRaw(
  kind: DeadlineKind,
  date: string | undefined,
  time: string | undefined,
  country: string | null,
  nuts: string | null = null,
): (Deadline | string)[] {
  const found = deadlineOf(kind, date, time, country, nuts)
  if (found) return [found]
  return date === undefined ? [] : [`${date} ${time ?? ''}`.trim().slice(0, RAW_MAX)]
}

const RAW_MAX = 100

/** Separates deadlines from the texts of those that are no dates. */
export function splitDeadlines(read: readonly (Deadline | string)[]) {
  const unreadableDeadlines = read.filter((each) => typeof each === 'string')
  return {
    deadlines: read.filter((each) => typeof each !== 'string'),
    ...(unreadableDeadlines.length > 0 && { unreadableDeadlines }),
  }
}

function localOf(date: RegExpExecArray, time: RegExpExecArray | null): Local | undefined {
  const [, year = '', month = '', day = ''] = date
  const midnight = Date.parse(`${year}-${month}-${day}T00:00:00Z`)
  if (Number.isNaN(midnight)) return undefined
  const rolled = new Date(midnight).toISOString().slice(0, 10)
  if (rolled !== `${year}-${month}-${day}`) return undefined // the 30th of February
  if (!time) return { ms: midnight, text: rolled, hasTime: false }
  const [, hours = '', minutes = '', seconds = '00'] = time
  const isEndOfDay = hours === '24' && minutes === '00' && seconds === '00'
  if ((Number(hours) > 23 && !isEndOfDay) || Number(minutes) > 59 || Number(seconds) > 59) {
    return { ms: midnight, text: rolled, hasTime: false }
  }
  const ms = midnight + ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000
  return { ms, text: textOf(ms), hasTime: true }
}

/** Local time as text, with seconds only if there are some. */
function textOf(ms: number): string {
  const full = new Date(ms).toISOString().slice(0, 19)
  return full.endsWith(':00') ? full.slice(0, 16) : full
}

function spanOf({ ms, hasTime }: Local, offsets: readonly number[]) {
  const from = offsets.length > 0 ? Math.max(...offsets) : EARLIEST_OFFSET
  const to = offsets.length > 0 ? Math.min(...offsets) : LATEST_OFFSET
  return { earliest: ms - from * MINUTE, latest: ms - to * MINUTE + (hasTime ? 0 : DAY) }
}

const minutesOf = (offset: string): number => {
  if (offset === 'Z') return 0
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6))
  return offset.startsWith('-') && minutes !== 0 ? -minutes : minutes
}

const written = (offset: number): string => {
  const size = Math.abs(offset)
  const pad = (value: number): string => String(value).padStart(2, '0')
  return `${offset < 0 ? '-' : '+'}${pad((size - (size % 60)) / 60)}:${pad(size % 60)}`
}
