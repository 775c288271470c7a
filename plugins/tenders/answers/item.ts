import type { LotAward } from '../domain/awards.ts'
import type { Status } from '../domain/enums.ts'
import { isSymbolic } from '../domain/estimates.ts'
import type { LotItem, State, Tender } from '../domain/tender.ts'
import { type Amount, CALL_KINDS, type Deadline } from '../model.ts'
import { effectiveOf } from '../store/rows.ts'
import { namesOfCodes } from './cpv-names.ts'

/** Builds the feed item of a tender as of an instant. */
export function itemOf(tender: Tender, now: Date) {
  const { lapses_at: _lapses, called_on: _called, state: _state, ...kept } = tender
  const { relevance, award, estimated_value: estimate, lots, ...more } = kept
  const { framework_max: frameworkMax, ...shown } = more
  const { status, deadline, next } = currentOf(tender, now)
  const { score, label, sector, breakdown } = relevance
  const { id, publication_number, notice_id, version, procedure_id, kind, ...rest } = shown
  return {
    id,
    publication_number,
    notice_id,
    version,
    procedure_id,
    kind,
    status,
    score,
    label,
    sector,
    ...rest,
    cpv_names: namesOfCodes(codesOf(tender)),
    estimated_value: estimateOf(estimate),
    framework_max: frameworkMax && amountOf(frameworkMax),
    deadline,
    next_deadline: next ? next.deadline.at : null,
    lots: lots.filter(isLot).map((lot) => lotOf(lot, tender, now)),
    award: award && {
      ...award,
      total: award.total && { ...amountOf(award.total), symbolic: isSymbolic(award.total) },
      framework_max: award.framework_max && amountOf(award.framework_max),
      framework_estimated: award.framework_estimated && amountOf(award.framework_estimated),
      lots: award.lots.map((lot) => ({ ...lot, ...amountsOf(lot) })),
    },
    score_breakdown: breakdown,
  }
}

/** Status and deadline of a tender as of an instant: the next one, else the last. */
export function currentOf(tender: Tender, now: Date) {
  const { lots, state } = tender
  const status = statusOf(state, tender, now)
  const isLive = status === 'open' || status === 'planned'
  const next = isLive ? nextOf(lots, now) : undefined
  const last = lots
    .flatMap((lot) => effectiveOf(lot.deadlines) ?? [])
    .sort((a, b) => b.closesAt - a.closesAt)[0]
  const shown = next ?? last
  return { status, next, deadline: shown ? deadlineOf(shown.deadline) : null }
}

export const estimateOf = (estimate: Tender['estimated_value']) =>
  estimate && { ...amountOf(estimate), source: estimate.source, symbolic: estimate.symbolic }

/** Codes of a tender and its lots, each once. */
const codesOf = ({ cpv_main: main, cpv_additional: others, lots }: Tender): string[] => {
  const all = [main, ...others, ...lots.flatMap((lot) => [lot.cpv_main, ...lot.cpv_additional])]
  return [...new Set(all.filter((code) => code !== null))]
}

/** Returns the first future deadline of the lots. */
const nextOf = (lots: readonly LotItem[], now: Date) =>
  lots
    .filter(({ state }) => state === 'timed' || state === 'planned')
    .flatMap(({ deadlines }) => effectiveOf(deadlines) ?? [])
    .filter(({ closesAt }) => closesAt > now.getTime())
    .sort((a, b) => a.closesAt - b.closesAt)[0]

/** Status of a tender; open while a lot that is not canceled has time, or without a deadline. */
function statusOf(state: State, { kind, lots, lapses_at: lapses }: Tender, now: Date): Status {
  if (state === 'planned') {
    return lapses === null || Date.parse(lapses) > now.getTime() ? 'planned' : 'lapsed'
  }
  if (state !== 'timed') return state
  if (!CALL_KINDS.has(kind)) return 'closed'
  const running = lots.filter((lot) => lot.state !== 'cancelled')
  const ends = running.flatMap(({ deadlines }) => effectiveOf(deadlines)?.closesAt ?? [])
  const last = ends.length > 0 ? Math.max(...ends) : lapses ? Date.parse(lapses) : Infinity
  return last > now.getTime() ? 'open' : 'closed'
}

function lotOf(lot: LotItem, { kind }: Tender, now: Date) {
  const { state, deadlines, estimated_value, framework_max, award, ...shown } = lot
  const end = effectiveOf(deadlines)
  const open = CALL_KINDS.has(kind) && (end === undefined || end.closesAt > now.getTime())
  return {
    ...shown,
    status: state === 'timed' ? (open ? 'open' : 'closed') : state,
    estimated_value: estimated_value && amountOf(estimated_value),
    framework_max: framework_max && amountOf(framework_max),
    deadline: end ? deadlineOf(end.deadline) : null,
    deadlines: deadlines.map(deadlineOf),
    award: award && { ...award, ...amountsOf(award) },
  }
}

/** A search hit has deadlines of unknown lots, stored under this name; it is no lot. */
const isLot = ({ lot_id: id }: LotItem): boolean => id !== 'PROCEDURE'

const amountsOf = (award: LotAward) => ({
  value: award.value && amountOf(award.value),
  framework_max: award.framework_max && amountOf(award.framework_max),
  framework_estimated: award.framework_estimated && amountOf(award.framework_estimated),
})

const deadlineOf = (deadline: Deadline) => ({
  at: deadline.at,
  type: deadline.kind,
  local: deadline.local,
  timezone_conflict: deadline.conflict,
  timezone_suspect: deadline.suspect,
  timezone_inferred: deadline.inferred,
  date_raw: deadline.dateRaw,
  time_raw: deadline.timeRaw,
})

/** Returns a value; a withheld amount is null and marked, never a number. */
const amountOf = (amount: Amount) => ({
  amount: amount.amount,
  currency: amount.currency,
  withheld: amount.amount === null,
})
