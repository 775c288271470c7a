import type { Correction, Deadline, FieldValue, Lot, Notice } from '../model.ts'
import { deadlineOf } from '../parse/deadline.ts'
import { lotsAmong } from '../parse/lot-names.ts'
import { distinct } from '../parse/values.ts'
import type { HashedNotice } from './tracks.ts'

/** A correction whose lots and clock are those of the corrected call. */
interface AppliedCorrection extends Correction {
  /** Lots that it changes; none for the procedure. */
  readonly ids: readonly string[]
  /** True if it names lots that cannot be identified: it changes none. */
  readonly unresolved: boolean
  /** True if its deadline is probably mistyped: it changes none. */
  readonly suspect: boolean
}

/** Assigns the corrections of an F14 to the lots of the call that it corrects, if known. */
export function correctionsFor(notice: Notice, call: Notice | undefined): AppliedCorrection[] {
  const known = call && call.lots.length > 0 ? new Set(call.lots.map(({ id }) => id)) : undefined
  const isUnknown = (id: string): boolean => known !== undefined && !known.has(id)
  return notice.corrections.map((each) => {
    const { lotText, lotId, lotIds } = each
    const numbered = lotIds ?? (lotId === null ? [] : [lotId])
    const isOdd = lotText !== undefined && (numbered.length === 0 || numbered.some(isUnknown))
    const named = isOdd && known ? lotsAmong(known, lotText) : numbered
    const unresolved = (isOdd && named.length === 0) || named.some(isUnknown)
    const read = call ? atClockOf(call, each) : each
    const suspect = isMistyped(read, notice, call)
    return { ...read, ids: unresolved ? [] : named, unresolved, suspect }
  })
}

/** Reads the deadlines of a correction on the clock of the tender, not of the corrigendum. */
function atClockOf(call: Notice, correction: Correction): Correction {
  const country = call.buyers[0]?.country ?? null
  const { before, after, deadline } = correction
  return {
    ...correction,
    before: instantAt(before, country),
    after: instantAt(after, country),
    deadline: deadline && (reread(deadline, country) ?? deadline),
  }
}

const reread = (deadline: Deadline, country: string | null): Deadline | undefined =>
  deadlineOf(deadline.kind, deadline.dateRaw, deadline.timeRaw ?? undefined, country)

function instantAt(value: FieldValue, country: string | null): FieldValue {
  if (value?.type !== 'instant') return value
  const [day, time] = value.local.split('T')
  const read = deadlineOf('tenders', day, time, country)
  return read ? { type: 'instant', at: read.at, local: read.local } : value
}

const YEAR_MS = 366 * 86_400_000

/** Returns true if the year of a new deadline is probably mistyped: far away, or over already. */
function isMistyped(
  { before, after }: Pick<Correction, 'before' | 'after'>,
  { publishedOn }: Notice,
  call: Notice | undefined,
): boolean {
  if (after?.type !== 'instant') return false
  const known = call?.lots.flatMap(({ deadlines }) => deadlines)[0]?.local
  const old = before?.type === 'instant' ? before.local : (known ?? publishedOn)
  const ms = (local: string): number => Date.parse(`${local.slice(0, 10)}T00:00:00Z`)
  const move = ms(after.local) - ms(old)
  return Math.abs(move) > YEAR_MS || (move < 0 && ms(after.local) < ms(publishedOn))
}

/** Applies the corrections of F14 to the call; suspect and unresolved ones change nothing. */
export function withCorrections(call: Notice, notices: readonly HashedNotice[]): Notice {
  const since = notices
    .filter(({ notice }) => notice.type === 'F14' && notice.publishedOn >= call.publishedOn)
    .flatMap(({ notice }) => correctionsFor(notice, call))
    .filter((each) => !each.unresolved && !each.suspect)
  return since.reduce(applied, call)
}

function applied(
  notice: Notice,
  { ids, deadline, field, before, after }: AppliedCorrection,
): Notice {
  const isNamed = (lot: Lot): boolean => ids.length === 0 || ids.includes(lot.id)
  const toLots = (change: (lot: Lot) => Partial<Lot>): Notice => ({
    ...notice,
    lots: notice.lots.map((lot) => (isNamed(lot) ? { ...lot, ...change(lot) } : lot)),
  })
  if (deadline) {
    return toLots(({ deadlines }) => ({
      deadlines: [{ ...deadline, kind: deadlines[0]?.kind ?? 'tenders' }],
      unreadableDeadlines: [],
    }))
  }
  if (field === 'BT-27' && after?.type === 'amount' && after.amount !== null) {
    const estimated = { amount: after.amount, currency: after.currency ?? '' }
    return ids.length === 0 ? { ...notice, estimated } : toLots(() => ({ estimated }))
  }
  if (field === 'BT-262' && after?.type === 'code') {
    const main = after.code
    const cpv = { main, additional: notice.cpv.additional.filter((code) => code !== main) }
    return ids.length === 0 ? { ...notice, cpv } : toLots((lot) => ({ cpv: { ...lot.cpv, main } }))
  }
  if (field === 'BT-263') {
    const replaced = ({ cpv }: Pick<Notice, 'cpv'>) => ({
      cpv: { ...cpv, additional: replacedCodes(cpv.additional, before, after) },
    })
    const has = ({ cpv }: Lot): boolean => codesIn(before).some((c) => cpv.additional.includes(c))
    if (ids.length > 0) return toLots(replaced)
    return { ...toLots((lot) => (has(lot) ? replaced(lot) : {})), ...replaced(notice) }
  }
  return notice
}

const codesIn = (value: FieldValue): readonly string[] =>
  value?.type === 'codes' ? value.codes : []

/** A correction names only the codes that it replaces; others remain. */
const replacedCodes = (codes: readonly string[], before: FieldValue, after: FieldValue): string[] =>
  distinct([...codes.filter((code) => !codesIn(before).includes(code)), ...codesIn(after)])
