import type { Amount, LotResult, Notice, Winner } from '../model.ts'
import { addDecimals } from '../parse/decimal.ts'
import { namesOf } from './tracks.ts'

export interface LotAward {
  readonly status: string | null
  readonly winners: readonly Winner[]
  readonly value: Amount | null
  /** Maximum of a framework agreement (BT-709) and its estimate (BT-660). */
  readonly framework_max: Amount | null
  readonly framework_estimated: Amount | null
  readonly tenders: number | null
}

export interface Award {
  readonly total: Amount | null
  /** Lowest and highest value of the contracts, if no total is published. */
  readonly total_range: { readonly low: Amount; readonly high: Amount } | null
  /** Maximum of all framework agreements (BT-118). */
  readonly framework_max: Amount | null
  /** Estimate of all framework agreements (BT-1118). */
  readonly framework_estimated: Amount | null
  /** Common maximum and estimate of groups of lots (BT-156, BT-1561). */
  readonly groups: readonly {
    readonly group_id: string | null
    readonly framework_max: Amount | null
    readonly framework_estimated: Amount | null
  }[]
  /** True if some lots have no winner. */
  readonly partial: boolean
  readonly winners: readonly Winner[]
  /** Each result as published; a lot with several winners may have several. */
  readonly lots: readonly (LotAward & { readonly lot_id: string | null })[]
}

/** Results of a call; a corrected notice replaces the one that it corrects. */
export function resultsOf(notices: readonly Notice[]): readonly LotResult[] {
  const valid = notices.filter((notice, at) => {
    const names = new Set(namesOf(notice))
    return !notices
      .slice(at + 1)
      .some(
        ({ result, noticeId, changes }) =>
          result !== null &&
          ((noticeId !== null && noticeId === notice.noticeId) ||
            names.has(changes?.reference ?? '')),
      )
  })
  return valid.flatMap(({ result }) => result?.lots ?? [])
}

/** Combined results by lot; those without a lot under null. */
export function outcomesOf(results: readonly LotResult[]): ReadonlyMap<string | null, LotAward> {
  const byLot = Map.groupBy(results, ({ lotId }) => lotId)
  return new Map([...byLot].map(([lotId, all]) => [lotId, combined(all)] as const))
}

/** Strongest first: one winner makes a lot awarded. */
const STATUSES = ['selec-w', 'open-nw', 'clos-nw'] as const

function combined(all: readonly LotResult[]): LotAward {
  const counts = all.flatMap(({ tenders }) => tenders ?? [])
  const codes = new Set(all.map(({ status }) => status))
  return {
    status: STATUSES.find((code) => codes.has(code)) ?? all[0]?.status ?? null,
    winners: distinctWinners(all),
    value: sumOf(all.map(({ value }) => value)),
    framework_max: sumOf(all.map(({ frameworkMax = null }) => frameworkMax)),
    framework_estimated: sumOf(all.map(({ frameworkEstimated = null }) => frameworkEstimated)),
    tenders: counts.length > 0 ? Math.max(...counts) : null,
  }
}

const distinctWinners = (all: readonly LotResult[]): Winner[] => {
  const winners = all.flatMap((lot) => lot.winners)
  return winners.filter(({ name }, at) => winners.findIndex((other) => other.name === name) === at)
}

/** Sums amounts in one currency; null if one is withheld or of another currency. */
function sumOf(amounts: readonly (Amount | null)[]): Amount | null {
  const known = amounts.filter((amount) => amount !== null)
  const [first] = known
  if (known.length < 2) return first ?? null
  const currency = first?.currency ?? null
  const parts = known.flatMap((each) => (each.currency === currency ? (each.amount ?? []) : []))
  if (currency === null || parts.length < known.length) return null
  return { amount: addDecimals(parts), currency }
}

/** Award of a call by all its results; null without any. */
export function awardOf(notices: readonly Notice[], lotIds: readonly string[]): Award | null {
  const last = notices.at(-1)?.result
  if (!last) return null
  const results = resultsOf(notices)
  const awarded = new Set(
    results.flatMap(({ status, lotId }) => (status === 'selec-w' ? lotId : [])),
  )
  const isKnown = awarded.size > 0 && !awarded.has(null)
  return {
    total: last.total,
    total_range: last.totalRange ?? null,
    framework_max: last.frameworkMax,
    framework_estimated: last.frameworkEstimated ?? null,
    groups: (last.groups ?? []).map((group) => ({
      group_id: group.groupId,
      framework_max: group.frameworkMax,
      framework_estimated: group.frameworkEstimated,
    })),
    partial: isKnown && lotIds.some((id) => !awarded.has(id)),
    winners: distinctWinners(results),
    lots: results.map((result) => ({ lot_id: result.lotId, ...combined([result]) })),
  }
}
