/** Dates in ISO 8601. Nothing is invented: a time without an offset gets none. */
const ISO = /^(\d{4})-?(\d\d)-?(\d\d)(?:[T ]+(\d\d):?(\d\d)(?::?(\d\d))?(?:[.,]\d+)?)?\s*(.*)$/i
const OFFSET = /^(?:Z|UTC|GMT|([+-])(\d\d):?(\d\d)?)/i
const DAY_FIRST = /^(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})(?:\D+(\d\d):(\d\d))?/
const EPOCH = /^\d{10}(?:\d{3})?$/
const LENGTH_MAX = 60
const ZONE = /(?:Z|UTC|GMT|[+-]\d\d:?\d\d)\s*$/i

const two = (part: string | undefined): string => (part ?? '0').padStart(2, '0')

const isReal = (iso: string): boolean => !Number.isNaN(Date.parse(iso))

function offsetOf(rest: string): string {
  const found = OFFSET.exec(rest)
  if (!found) return ''
  const [, sign, hours, minutes] = found
  return sign ? `${sign}${hours}:${two(minutes)}` : 'Z'
}

function ofIso(text: string): string | undefined {
  const [, year, month, day, hours, minutes, seconds, rest] = ISO.exec(text) ?? []
  if (!year) return undefined
  const date = `${year}-${month}-${day}`
  if (!hours) return date
  return `${date}T${hours}:${minutes}:${two(seconds)}${offsetOf(rest ?? '')}`
}

function ofDayFirst(text: string): string | undefined {
  const [, day, month, year, hours, minutes] = DAY_FIRST.exec(text) ?? []
  if (!year) return undefined
  const date = `${year}-${two(month)}-${two(day)}`
  return hours ? `${date}T${hours}:${minutes}:00` : date
}

/** English dates, such as `Wed, 20 Nov 2019 10:15:00 GMT` or `November 20, 2019`. */
function ofWords(text: string): string | undefined {
  if (!/[a-z]{3}/i.test(text) || !/\b\d{4}\b/.test(text)) return undefined
  const zoned = ZONE.test(text)
  const time = Date.parse(zoned ? text : `${text} UTC`)
  if (Number.isNaN(time)) return undefined
  const iso = new Date(time).toISOString().replace('.000Z', 'Z')
  if (zoned) return iso
  return /\d:\d\d/.test(text) ? iso.slice(0, -1) : iso.slice(0, 10)
}

/** Parses a date. @returns ISO 8601, or undefined if it is no date */
export function dateOf(text: string | undefined): string | undefined {
  const trimmed = text?.trim() ?? ''
  if (trimmed === '' || trimmed.length > LENGTH_MAX) return undefined
  if (EPOCH.test(trimmed)) {
    return new Date(Number(trimmed.padEnd(13, '0'))).toISOString().replace('.000Z', 'Z')
  }
  const iso = ofIso(trimmed) ?? ofDayFirst(trimmed) ?? ofWords(trimmed)
  return iso !== undefined && isReal(iso) ? iso : undefined
}
