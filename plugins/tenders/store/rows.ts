import type { TenderChange } from '../domain/derive.ts'
import type { Tender } from '../domain/tender.ts'
import { CALL_KINDS, type Deadline } from '../model.ts'

/** PostgreSQL's `infinity`, for a tender without a certain end. */
const NEVER = 'infinity'
/** Scores are stored in tenths. */
export const TENTHS = 10
const tenths = (score: number): number => Math.round(score * TENTHS)

/** Row of a tender, with the columns by which it is searched and sorted. */
export function tenderRow(tender: Tender, family: bigint) {
  const lots = tender.lots.filter(({ state }) => state !== 'cancelled')
  const effective = lots.flatMap(({ deadlines }) => effectiveOf(deadlines) ?? [])
  const iso = (ms: number): string => new Date(ms).toISOString()
  const codes = [tender.cpv_main ?? '', ...tender.cpv_additional].concat(
    tender.lots.flatMap((lot) => [lot.cpv_main ?? '', ...lot.cpv_additional]),
  )
  const isOver = tender.state === 'timed' && !CALL_KINDS.has(tender.kind)
  const last = effective.reduce<number | undefined>(
    (most, each) => Math.max(most ?? each.closesAt, each.closesAt),
    undefined,
  )
  return {
    id: tender.id,
    family: String(family),
    number: tender.publication_number,
    numbers: tender.publication_numbers,
    first_on: tender.first_published_at,
    called_on: tender.called_on,
    kind: tender.kind,
    state: tender.state,
    score: tenths(tender.relevance.score),
    closes_at: isOver ? '-infinity' : endOf(tender, last),
    deadlines: effective.map(({ closesAt }) => iso(closesAt)),
    candidates: effective.map(({ earliest }) => iso(earliest)),
    countries: tender.countries,
    cpv: prefixesOf(codes),
    item: tender,
  }
}

/**
 * Picks the effective deadline of a lot: the first, because missing it excludes a bidder. Without a
 * certain offset it ends when it has ended everywhere.
 */
export function effectiveOf(deadlines: readonly Deadline[]) {
  const all = deadlines.map((deadline) => ({
    deadline,
    closesAt: deadline.at === null ? deadline.latest : Date.parse(deadline.at),
    earliest: deadline.earliest,
  }))
  return all.sort((a, b) => a.closesAt - b.closesAt)[0]
}

const PREFIX_MIN = 2
const prefixesOf = (codes: readonly string[]): string[] => [
  ...new Set(
    codes.flatMap((code) =>
      Array.from({ length: Math.max(0, code.length - PREFIX_MIN + 1) }, (_, more) =>
        code.slice(0, PREFIX_MIN + more),
      ),
    ),
  ),
]

/** End of a call: its last deadline; of a plan or a call without any, when it lapses. */
const endOf = ({ state, lapses_at: lapses }: Tender, last: number | undefined): string =>
  last === undefined || state === 'planned' ? (lapses ?? NEVER) : new Date(last).toISOString()

/** Row of a change. */
export function changeRow({ score, tender, codes, ...change }: TenderChange, family: bigint) {
  return {
    id: change.id,
    family: String(family),
    published_on: change.published_at,
    event: change.event,
    signal: change.signal,
    verification: change.verification_status,
    countries: change.countries,
    score: tenths(score),
    tender,
    cpv: prefixesOf(codes),
    item: change,
  }
}
