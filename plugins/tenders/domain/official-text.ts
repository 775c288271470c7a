import type { Deadline, Notice } from '../model.ts'

const MONTHS_MAX = 12
const NUMERIC = /(?<!\d)(\d{1,2})\s?[./-]\s?(\d{1,2})\s?[./-]\s?(\d{4})(?!\d)/g
const ISO = /(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)/g
/** Time after a date, as in `31/10/2024 à 15h00`, which marks the date as a deadline. */
const TIME = /(?<!\d)\d{1,2}\s?[:h.]\s?\d{2}(?!\d)/

/** Finds the dates in a text, as `2024-10-31`; day before month, as in Europe. */
function daysIn(text: string): string[] {
  const numeric = [...text.matchAll(NUMERIC)].map(([, day, month, year]) => [year, month, day])
  const iso = [...text.matchAll(ISO)].map(([, year, month, day]) => [year, month, day])
  return [...numeric, ...iso].flatMap(([year = '', month = '', day = '']) =>
    Number(month) >= 1 && Number(month) <= MONTHS_MAX && Number(day) >= 1
      ? [`${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`]
      : [],
  )
}

const deadlinesOf = ({ lots }: Notice): Deadline[] => lots.flatMap(({ deadlines }) => deadlines)
const dayOf = ({ local }: Deadline): string => local.slice(0, 10)

/** True if the buyer's text names dates with a time and none of them is the lot's deadline. */
export function contradicts({ lots, changes }: Notice, lotId: string): boolean {
  const days = new Set(lots.find(({ id }) => id === lotId)?.deadlines.map(dayOf) ?? [])
  const texts = (changes?.sections ?? [])
    .filter(({ ids }) => ids.includes(lotId))
    .flatMap((section) => section.texts.map(({ text }) => text))
  const named = texts.filter((text) => TIME.test(text)).flatMap(daysIn)
  return days.size > 0 && named.length > 0 && named.every((day) => !days.has(day))
}

/** Returns the deadline whose date the official text of a change names, if any. */
export function namesDeadline(notice: Notice): Deadline | null {
  const texts = (notice.changes?.sections ?? []).flatMap(({ texts }) => texts)
  const named = new Set(texts.flatMap(({ text }) => daysIn(text)))
  return deadlinesOf(notice).find((deadline) => named.has(dayOf(deadline))) ?? null
}
