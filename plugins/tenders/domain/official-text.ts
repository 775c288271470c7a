import words from '../data/deadline-words.json' with { type: 'json' }
import type { Deadline, Notice, Text } from '../model.ts'
import { daysIn, isDay, type NamedDay } from './official-dates.ts'

/** Time after a date, as in `31/10/2024 à 15h00`, which marks the date as a deadline. */
const TIME = /(?<!\d)\d{1,2}\s?[:h.]\s?\d{2}(?!\d)/
/** Fields of deadlines in eForms and in the older forms: BT-131, BT-1311, BT-630, IV.2.2. */
const FIELD = /\bBT[- ]?(?:131|1311|630)(?!\d)|\bIV\.2\.2(?!\d)/i

const deadlinesOf = ({ lots }: Notice): Deadline[] => lots.flatMap(({ deadlines }) => deadlines)
const dayOf = ({ local }: Deadline): string => local.slice(0, 10)

/** True if the buyer's text names dates with a time and none of them is the lot's deadline. */
export function contradicts({ lots, changes }: Notice, lotId: string): boolean {
  const days = lots.find(({ id }) => id === lotId)?.deadlines.map(dayOf) ?? []
  const texts = (changes?.sections ?? [])
    .filter(({ ids }) => ids.includes(lotId))
    .flatMap((section) => section.texts)
  const named = texts
    .filter(({ text }) => TIME.test(text))
    .flatMap(({ text, lang }) => daysIn(text, lang))
    .filter(({ year }) => year !== null)
  return days.length > 0 && named.length > 0 && !named.some((each) => isOne(each, days))
}

const isOne = (named: NamedDay, days: readonly string[]): boolean =>
  days.some((day) => isDay(named, day))

/** The buyer's texts about a change: its descriptions and its reason. */
export const officialTextsOf = ({ changes }: Notice): Text[] => [
  ...(changes?.sections.flatMap(({ texts }) => texts) ?? []),
  ...(changes?.reasonTexts ?? []),
]

/** Returns the deadline whose date the official text of a change names, if any. */
export function namesDeadline(notice: Notice): Deadline | null {
  const named = officialTextsOf(notice).flatMap(({ text, lang }) => daysIn(text, lang))
  const deadlines = deadlinesOf(notice)
  const found = deadlines.find((deadline) => named.some((each) => isDay(each, dayOf(deadline))))
  if (found || !movesDeadline(notice)) return found ?? null
  return new Set(deadlines.map(dayOf)).size === 1 ? (deadlines[0] ?? null) : null
}

/** Returns true if a text says that a deadline for tenders or requests has changed. */
export function movesDeadline(notice: Notice): boolean {
  const days = deadlinesOf(notice).map(dayOf)
  if (notice.changes?.sections.some(({ ids }) => ids.some((id) => FIELD.test(id)))) return true
  return officialTextsOf(notice).some(({ text, lang }) =>
    sentencesOf(text).some((sentence) => isMove(sentence, lang, days)),
  )
}

/** Parts of a text that say one thing; a dot ends a sentence if a capital letter follows. */
const sentencesOf = (text: string): string[] =>
  text.split(/[;\n]|(?<=[^\d\s])[.!?] (?=\p{Lu})/u).map((part) => part.toLowerCase())

/** Distances, in characters, within which words and dates belong together. */
const NEAR = { subject: 40, change: 170, dates: 200, condition: 30 } as const

function isMove(sentence: string, language: string, deadlines: readonly string[]): boolean {
  if (FIELD.test(sentence)) return true
  const at = deadlinePositions(sentence)
  if (at.length === 0) return false
  if (daysIn(sentence, language).some((day) => isOne(day, deadlines))) return true
  if (isLabel(sentence, at)) return true
  const changes = positionsOf('changes', sentence)
  const conditions = positionsOf('conditions', sentence)
  return at.some((position) => {
    const around = sentence.slice(Math.max(0, position - NEAR.subject), position + NEAR.dates)
    const isReference = isNear(position, conditions, NEAR.condition)
    const isChanged = !isReference && isNear(position, changes, NEAR.change)
    return isChanged || daysIn(around, language).length > 1
  })
}

const LABEL_MAX = 110
/** Name of the field alone: `Time limit for receipt of tenders or requests to participate`. */
const isLabel = (sentence: string, deadlines: readonly number[]): boolean =>
  deadlines.includes(0) &&
  sentence.length <= LABEL_MAX &&
  positionsOf('subjects', sentence).length > 1

/** Places where a sentence speaks of the end of the period for tenders or requests. */
function deadlinePositions(sentence: string): number[] {
  const subjects = positionsOf('subjects', sentence)
  const others = positionsOf('others', sentence)
  const isSubject = (at: number): boolean => isNear(at, subjects, NEAR.subject)
  const isOther = (at: number): boolean => isNear(at, others, NEAR.subject)
  return [
    ...positionsOf('deadlines', sentence).filter((at) => isSubject(at) || !isOther(at)),
    ...positionsOf('periods', sentence).filter((at) => isSubject(at) && !isOther(at)),
  ]
}

const isNear = (at: number, others: readonly number[], most: number): boolean =>
  others.some((other) => Math.abs(other - at) <= most)

type Group = Exclude<keyof typeof words, 'about'>

/** Positions of words that begin like one of the group. */
const positionsOf = (group: Group, sentence: string): number[] =>
  words[group].flatMap((stem) => startsOf(sentence, stem))

function startsOf(sentence: string, stem: string): number[] {
  const found: number[] = []
  for (let at = sentence.indexOf(stem); at !== -1; at = sentence.indexOf(stem, at + 1)) {
    const before = sentence[at - 1]
    if (before === undefined || !LETTER.test(before)) found.push(at)
  }
  return found
}

const LETTER = /[\p{L}\p{N}]/u
