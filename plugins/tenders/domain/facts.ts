import type { Amount, Deadline, FieldId, FieldValue, Link, Lot, Notice, Text } from '../model.ts'

/** Comparable values of a notice, by field of the procedure or of a lot. */
export type Facts = ReadonlyMap<string, Exclude<FieldValue, null>>

export interface Subject {
  readonly lotId: string | null
  readonly field: FieldId
}

/** One differing field; null for a missing value. */
export interface Difference extends Subject {
  readonly before: FieldValue
  readonly after: FieldValue
}

const DEADLINES = { tenders: 'BT-131', requests: 'BT-1311', expressions: 'BT-630' } as const

const keyOf = ({ lotId, field }: Subject): string => `${lotId ?? ''}|${field}`

const subjectOf = (key: string): Subject => {
  const [lot = '', field = ''] = key.split('|')
  return { lotId: lot === '' ? null : lot, field: field as FieldId }
}

/** Returns the comparable facts of a notice: no contacts, review bodies or statistics. */
export function factsOf(notice: Notice): Facts {
  const facts = new Map<string, Exclude<FieldValue, null>>()
  const put = (lotId: string | null, field: FieldId, value: FieldValue): void => {
    if (value !== null) facts.set(keyOf({ lotId, field }), value)
  }
  put(null, 'BT-137', codes(notice.lots.map(({ id }) => id)))
  putShared(notice, (field, value) => put(null, field, value))
  for (const lot of notice.lots) {
    putShared(lot, (field, value) => put(lot.id, field, value))
    for (const deadline of lot.deadlines) put(lot.id, DEADLINES[deadline.kind], instant(deadline))
    put(lot.id, 'BT-15', link(lot.documents))
    put(lot.id, 'BT-18', link(lot.submission))
  }
  return facts
}

/** Facts that procedures and lots share. */
function putShared(
  from: Pick<Lot, 'title' | 'nature' | 'cpv' | 'place' | 'estimated' | 'frameworkMax'>,
  put: (field: FieldId, value: FieldValue) => void,
): void {
  put('BT-27', money(from.estimated))
  put('BT-271', money(from.frameworkMax))
  put('BT-21', texts(from.title))
  put('BT-23', from.nature === null ? null : { type: 'code', code: from.nature })
  put('BT-262', from.cpv.main === null ? null : { type: 'code', code: from.cpv.main })
  put('BT-263', codes(from.cpv.additional))
  put('BT-5071', codes([...from.place.countries, ...from.place.nuts]))
}

const instant = ({ at, local }: Deadline): FieldValue => ({ type: 'instant', at, local })
const link = (found: Link | null): FieldValue => found && { type: 'url', ...found }
const texts = (found: readonly Text[]): FieldValue =>
  found.length === 0 ? null : { type: 'text', texts: found }
const codes = (found: readonly string[]): FieldValue =>
  found.length === 0 ? null : { type: 'codes', codes: [...found].sort() }
/** Returns an amount; a withheld one is missing, never zero. */
const money = (found: Amount | null): FieldValue =>
  found === null || found.amount === null
    ? null
    : { type: 'amount', amount: found.amount, currency: found.currency }

/** Returns the differing fields; none between equal facts. */
export function differences(before: Facts, after: Facts): Difference[] {
  const keys = [...new Set([...before.keys(), ...after.keys()])]
  return keys.flatMap((key) => {
    const [old = null, now = null] = [before.get(key), after.get(key)]
    return isEquivalent(old, now) ? [] : [{ ...subjectOf(key), before: old, after: now }]
  })
}

/** Returns true if two values are equivalent: instants by moment, links by target. */
function isEquivalent(a: FieldValue, b: FieldValue): boolean {
  if (a === null || b === null || a.type !== b.type) return a === b
  return meaningOf(a) === meaningOf(b)
}

function meaningOf(value: Exclude<FieldValue, null>): string {
  switch (value.type) {
    case 'instant':
      return value.at === null ? value.local : String(Date.parse(value.at))
    case 'amount':
      return `${value.amount} ${value.currency}`
    case 'url':
      return URL.parse(value.url)?.href ?? value.url
    case 'code':
      return value.code
    case 'codes':
      return value.codes.join(' ')
    case 'text':
      return [...value.texts]
        .map(({ lang, text }) => `${lang} ${text}`)
        .sort()
        .join('\n')
  }
}

/** Renames new lots of the later notice whose title and CPV show that they are the same. */
export function alignLots(before: Notice, after: Notice): Notice {
  const known = new Set(before.lots.map(({ id }) => id))
  const removed = before.lots.filter(({ id }) => after.lots.every((lot) => lot.id !== id))
  const lots = after.lots.map((lot) => {
    if (known.has(lot.id)) return lot
    const like = removed.filter((old) => likeness(old) !== '' && likeness(old) === likeness(lot))
    const [only] = like
    return only && like.length === 1 ? { ...lot, id: only.id } : lot
  })
  const isClear = new Set(lots.map(({ id }) => id)).size === lots.length
  return isClear ? { ...after, lots } : after
}

const likeness = ({ title, cpv }: Lot): string =>
  title[0] === undefined ? '' : `${cpv.main ?? ''} ${title[0].text.toLowerCase()}`
