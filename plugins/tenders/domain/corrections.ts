import type { Correction, Deadline, FieldValue, Lot, Notice } from '../model.ts'
import { deadlineOf } from '../parse/deadline.ts'
import type { Held } from './tracks.ts'

/** A correction whose lots and clock are those of the corrected call. */
interface AppliedCorrection extends Correction {
  /** Lots that it changes; none for the procedure. */
  readonly ids: readonly string[]
  /** True if it names lots that cannot be identified: it changes none. */
  readonly unresolved: boolean
}

/** Assigns the corrections of an F14 to the lots of the call that it corrects, if known. */
export function correctionsFor(notice: Notice, call: Notice | undefined): AppliedCorrection[] {
  return notice.corrections.map((each) => {
    const named = each.lotIds ?? (each.lotId === null ? [] : [each.lotId])
    const known = call && call.lots.length > 0 ? new Set(call.lots.map(({ id }) => id)) : undefined
    const unresolved =
      (each.lotText !== undefined && named.length === 0) ||
      (known !== undefined && named.some((id) => !known.has(id)))
    const ids = unresolved ? [] : named
    return { ...(call ? atClockOf(call, each) : each), ids, unresolved }
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

/** Returns true if a deadline moves by more than a year: probably a mistyped year. */
export function isFarMove({ before, after }: Pick<Correction, 'before' | 'after'>): boolean {
  if (before?.type !== 'instant' || after?.type !== 'instant') return false
  const ms = (local: string): number => Date.parse(`${local.slice(0, 10)}T00:00:00Z`)
  return Math.abs(ms(after.local) - ms(before.local)) > YEAR_MS
}

/** Applies the corrections of F14 to the call; suspect and unresolved ones change nothing. */
export function withCorrections(call: Notice, notices: readonly Held[]): Notice {
  const since = notices
    .filter(({ notice }) => notice.type === 'F14' && notice.publishedOn >= call.publishedOn)
    .flatMap(({ notice }) => correctionsFor(notice, call))
    .filter((each) => !each.unresolved && !isFarMove(each))
  return since.reduce(applied, call)
}

function applied(notice: Notice, { ids, deadline, field, after }: AppliedCorrection): Notice {
  const isNamed = (lot: Lot): boolean => ids.length === 0 || ids.includes(lot.id)
  const toLots = (change: (lot: Lot) => Partial<Lot>): Notice => ({
    ...notice,
    lots: notice.lots.map((lot) => (isNamed(lot) ? { ...lot, ...change(lot) } : lot)),
  })
  if (deadline) {
    return toLots(({ deadlines }) => ({
      deadlines: [{ ...deadline, kind: deadlines[0]?.kind ?? 'tenders' }],
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
  if (field === 'BT-263' && after?.type === 'codes') {
    const additional = after.codes
    if (ids.length > 0) return toLots((lot) => ({ cpv: { ...lot.cpv, additional } }))
    return { ...notice, cpv: { ...notice.cpv, additional } }
  }
  return notice
}
