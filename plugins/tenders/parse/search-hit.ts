import { KINDS, type Notice, type Text } from '../model.ts'
import { deadlineOf } from './deadline.ts'
import { energyWordsIn } from './energy-words.ts'
import {
  amountFrom,
  cleanText,
  cpvOf,
  dayOf,
  distinct,
  issueOf,
  linkOf,
  nameOf,
  numberOf,
} from './values.ts'
import { Unreadable } from './xml.ts'

type Hit = Readonly<Record<string, unknown>>

/**
 * Reads notices from responses of the journal's search (`POST /v3/notices/search`), for documents
 * that are unavailable. Its lists mix procedure and lots and are not aligned, so only certain facts
 * are taken, lots are not distinguished, and no change is derived.
 * A hit that cannot be read is returned as its reason.
 * @throws Unreadable if it is not a search response
 */
export function readHits(json: string): (Notice | Unreadable)[] {
  let answer: unknown
  try {
    answer = JSON.parse(json.replace(/^\ufeff/, ''), (_, value: unknown) =>
      typeof value === 'string' ? plain(value) : value,
    )
  } catch {
    throw new Unreadable('not_json', 'is neither XML nor an answer of the search')
  }
  const pages = isRecord(answer) && Array.isArray(answer['pages']) ? answer['pages'] : [answer]
  return pages.flatMap((page: unknown) => {
    const notices = isRecord(page) ? page['notices'] : undefined
    if (!Array.isArray(notices)) throw new Unreadable('unknown_schema', 'has no notices')
    return notices.map(readHit)
  })
}

function readHit(hit: unknown): Notice | Unreadable {
  try {
    if (isRecord(hit)) return noticeOf(hit)
    return new Unreadable('unknown_schema', 'a hit is not an object')
  } catch (error) {
    if (error instanceof Unreadable) return error
    return new Unreadable('unexpected_error', String(error))
  }
}

/** U+0000, which PostgreSQL cannot store. */
const plain = (text: string): string => text.replaceAll('\0', '')

const isRecord = (value: unknown): value is Hit => typeof value === 'object' && value !== null

const textsAt = (hit: Hit, name: string): string[] =>
  [hit[name] ?? []].flat().flatMap((value: unknown) => (typeof value === 'string' ? value : []))

function noticeOf(hit: Hit): Notice {
  const number = numberOf(textsAt(hit, 'publication-number')[0])
  const publishedOn = dayOf(textsAt(hit, 'publication-date')[0])
  const kind = KINDS.find((each) => each === hit['form-type'])
  if (!number || !publishedOn || !kind) {
    throw new Unreadable('unknown_schema', 'a notice has no number, date or form type')
  }
  const countries = distinct(textsAt(hit, 'buyer-country'))
  const country = countries[0] ?? null
  const codes = distinct(textsAt(hit, 'classification-cpv').flatMap((code) => cpvOf(code) ?? []))
  const titles = titlesOf(hit)
  const [title] = titles
  const total = totalOf(hit)
  return {
    ...NOTHING,
    number,
    publishedOn,
    kind,
    ojs: issueOf(textsAt(hit, 'ojs-number')[0]),
    type: textsAt(hit, 'notice-type')[0] ?? kind,
    noticeId: nameOf(textsAt(hit, 'notice-identifier')[0]?.toLowerCase()),
    version: nameOf(textsAt(hit, 'notice-version')[0]),
    procedureId: nameOf(textsAt(hit, 'procedure-identifier')[0]?.toLowerCase()),
    estimated: amountAt(hit, 'estimated-value-proc', 'estimated-value-cur-proc'),
    language: titles.find(({ lang }) => lang === languageOf(hit))?.lang ?? title?.lang ?? 'und',
    title: titles,
    nature: textsAt(hit, 'contract-nature')[0] ?? null,
    buyers: namesOf(hit).map((name) => ({ name, id: null, country, nuts: null })),
    buyerCountries: countries,
    place: placeOf(hit),
    cpv: { main: codes[0] ?? null, additional: codes.slice(1) },
    procedureType: textsAt(hit, 'procedure-type')[0] ?? null,
    lots: lotsOf(hit, country),
    result: kind === 'result' && total ? { total, frameworkMax: null, lots: [] } : null,
    energyWords: energyWordsIn(titles.map(({ text }) => text).join('\n')),
    partial: true,
  }
}

const NOTHING = {
  schema: 'search-v3',
  subtype: null,
  legalBasis: null,
  activities: [],
  accelerated: false,
  frameworkMax: null,
  changes: null,
  corrections: [],
  terminated: false,
  previous: [],
} as const

/**
 * Returns the buyer's titles. The journal composes `Country – CPV – title of the buyer` in all
 * languages; the last part is in the buyer's, which only other fields tell.
 */
function titlesOf(hit: Hit): Text[] {
  const own = isRecord(hit['title-proc']) ? Object.entries(hit['title-proc']) : []
  const titles = own.flatMap(([lang, texts]) => {
    const text = [texts].flat().find((each) => typeof each === 'string')
    return text === undefined ? [] : [{ lang: lang.toLowerCase(), text: cleanText(text) }]
  })
  if (titles.length > 0) return titles
  const composed = isRecord(hit['notice-title']) ? Object.entries(hit['notice-title']) : []
  const [lang, text] = composed.find(([lang]) => lang === 'eng') ?? composed[0] ?? []
  if (typeof text !== 'string' || lang === undefined) return []
  const buyers = text.split(' – ').slice(2).join(' – ')
  if (buyers === '') return [{ lang, text: cleanText(text) }]
  return [{ lang: languageOf(hit) ?? 'und', text: cleanText(buyers) }]
}

/** Language of the buyer's name, if it is in one only. */
function languageOf(hit: Hit): string | undefined {
  const names = isRecord(hit['buyer-name']) ? Object.keys(hit['buyer-name']) : []
  return names.length === 1 ? names[0]?.toLowerCase() : undefined
}

const namesOf = (hit: Hit): string[] => {
  const names = isRecord(hit['buyer-name']) ? Object.values(hit['buyer-name']).flat() : []
  return distinct(names.flatMap((name) => (typeof name === 'string' ? cleanText(name) : [])))
}

/** Countries and NUTS codes come in one list. */
function placeOf(hit: Hit): Notice['place'] {
  const places = distinct(textsAt(hit, 'place-of-performance'))
  return {
    countries: places.filter((place) => /^[A-Z]{3}$/.test(place)),
    nuts: places.filter((place) => !/^[A-Z]{3}$/.test(place)),
  }
}

/** Reads all deadlines, without lots; most are dates without a time. */
function lotsOf(hit: Hit, country: string | null): Notice['lots'] {
  const times = distinct(textsAt(hit, 'deadline-receipt-tender-time-lot'))
  const days = distinct(textsAt(hit, 'deadline-receipt-tender-date-lot'))
  const deadlines = days.flatMap(
    (day) => deadlineOf('tenders', day, times.length === 1 ? times[0] : undefined, country) ?? [],
  )
  const documents = linkOf(textsAt(hit, 'document-url-lot')[0])
  if (deadlines.length === 0 && documents === null) return []
  const nothing = { nature: null, estimated: null, frameworkMax: null, documents }
  const cpv = { main: null, additional: [] }
  const place = { countries: [], nuts: [] }
  const terms = { documentsRestricted: false, submission: null, framework: null, dps: null }
  return [{ id: 'PROCEDURE', title: [], cpv, place, deadlines, ...nothing, ...terms }]
}

/** BT-161 of a result; in other notices it is not an estimate. */
const totalOf = (hit: Hit) => amountAt(hit, 'total-value', 'total-value-cur')

/** An amount whose currency is another field. */
function amountAt(hit: Hit, value: string, currency: string) {
  const [first] = [hit[value]].flat()
  const isAmount = typeof first === 'number' || typeof first === 'string'
  return amountFrom(isAmount ? String(first) : '', textsAt(hit, currency)[0])
}
