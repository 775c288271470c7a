import { hash } from 'node:crypto'
import type { Amount, Buyer, Deadline, Lot, Notice, Place } from '../model.ts'
import { type Award, awardOf, type LotAward, outcomesOf, resultsOf } from './awards.ts'
import { countriesOf, titleOf } from './build-change.ts'
import { isCancelled } from './cancellation.ts'
import { linksOf, type OfficialLinks } from './change.ts'
import { withCorrections } from './corrections.ts'
import { isSuspended } from './detect.ts'
import { deadlineFlags, type Estimate, estimateOf } from './estimates.ts'
import { limitUnclear, type Relevance, relevanceOf } from './relevance.ts'
import {
  byPublication,
  type HashedNotice,
  isCall,
  lastCall,
  namesOf,
  type Track,
} from './tracks.ts'

/** State independent of time; `timed` means open until the last deadline, then closed. */
export type State =
  | 'planned'
  | 'timed'
  | 'suspended'
  | 'cancelled'
  | 'awarded'
  | 'unsuccessful'
  | 'unclear'

export interface LotItem {
  readonly lot_id: string
  readonly title: string | null
  readonly state: State
  readonly estimated_value: Amount | null
  readonly framework_max: Amount | null
  readonly cpv_main: string | null
  readonly cpv_additional: readonly string[]
  readonly deadlines: readonly Deadline[]
  readonly documents_url: string | null
  readonly documents_restricted: boolean
  readonly submission_url: string | null
  readonly framework: string | null
  readonly dps: string | null
  readonly award: LotAward | null
}

/** A stored tender: everything that does not depend on the time. */
export interface Tender {
  readonly id: string
  readonly publication_number: string
  readonly notice_id: string | null
  readonly version: string | null
  readonly procedure_id: string | null
  readonly kind: string
  readonly notice_type: string
  readonly subtype: string | null
  readonly state: State
  readonly modified: boolean
  /** Oddities of the source, such as `deadline_unreadable`. */
  readonly flags: readonly string[]
  /** True if known only from the journal's search. */
  readonly partial: boolean
  readonly title: string | null
  readonly title_lang: string | null
  /** Title in English, if the buyer has published one. */
  readonly title_en: string | null
  readonly buyers: readonly Buyer[]
  readonly country: string | null
  readonly countries: readonly string[]
  readonly place: Place
  readonly cpv_main: string | null
  readonly cpv_additional: readonly string[]
  readonly procedure_type: string | null
  readonly accelerated: boolean
  readonly legal_basis: string | null
  readonly estimated_value: Estimate | null
  readonly framework_max: Amount | null
  readonly lots: readonly LotItem[]
  readonly documents_url: string | null
  readonly published_at: string
  readonly first_published_at: string
  /** Publication days of calls that change no other notice. */
  readonly called_on: readonly string[]
  readonly relevance: Relevance
  /** End of a call without any deadline; null if it has none. */
  readonly lapses_at: string | null
  readonly last_change_id: string | null
  readonly award: Award | null
  readonly source_urls: OfficialLinks
  /** Earlier notices of the same procurement: numbers, or UUID-NN. */
  readonly previous_notices: readonly string[]
  /** Numbers of all notices, oldest first. */
  readonly publication_numbers: readonly string[]
}

/** All notices since are eForms (2019/1780). Older qualification systems may no longer be open. */
const OLD_FORMS_END = '2023-10-25T00:00:00Z'

/** Derives a tender from all notices of a call; undefined if they contain too little. */
export function tenderOf(track: Track, lastChangeId: string | null): Tender | undefined {
  const notices = [...track.notices].sort(byPublication)
  const corrected = notices.filter(({ notice }) => notice.type !== 'F14')
  const head = corrected.at(-1)?.notice
  const first = notices[0]
  if (!head || !first || head.kind === 'bri') return undefined
  const call = lastCall({ notices })
  const base = call ? withCorrections(call.notice, notices) : head
  const results = notices.map(({ notice }) => notice).filter(({ result }) => result !== null)
  const lots = lotItems(base, notices, outcomesOf(resultsOf(results)))
  const flags = [...new Set([...(base.flags ?? []), ...deadlineFlags(base)])]
  const state = stateOf(base, notices, lots)
  const title = titleOf(base)
  return {
    id: hash('sha256', first.notice.number, 'hex').slice(0, 24),
    publication_number: head.number,
    notice_id: head.noticeId,
    version: head.version,
    procedure_id: head.procedureId,
    kind: head.kind,
    notice_type: head.type,
    subtype: head.subtype,
    state,
    flags,
    modified: notices.some(({ notice }) => notice.changes !== null && isCall(notice)),
    partial: base.partial ?? false,
    title: title?.text ?? null,
    title_lang: title?.lang ?? null,
    title_en: base.title.find(({ lang }) => lang === 'eng')?.text ?? null,
    buyers: base.buyers,
    country: base.buyers[0]?.country ?? null,
    countries: countriesOf(base),
    place: placesOf(base),
    cpv_main: base.cpv.main,
    cpv_additional: base.cpv.additional,
    procedure_type: base.procedureType,
    accelerated: base.accelerated,
    legal_basis: base.legalBasis,
    estimated_value: estimateOf(base, lots),
    framework_max: base.frameworkMax,
    lots,
    documents_url: lots.find(({ documents_url }) => documents_url !== null)?.documents_url ?? null,
    published_at: head.publishedOn,
    first_published_at: first.notice.publishedOn,
    called_on: daysOfCalls(notices),
    relevance: state === 'unclear' ? limitUnclear(relevanceOf(base)) : relevanceOf(base),
    lapses_at: lapseOf(base, state),
    last_change_id: lastChangeId,
    award: awardOf(
      results,
      lots.map(({ lot_id }) => lot_id),
    ),
    previous_notices: previousOf(notices),
    source_urls: linksOf(head.number),
    publication_numbers: notices.map(({ notice }) => notice.number),
  }
}

/** A first notice that declares changes without a reference is a new call too. */
const isNew = ({ changes }: Notice, at: number): boolean =>
  changes === null || (at === 0 && changes.reference === null)

const daysOfCalls = (notices: readonly HashedNotice[]): string[] => [
  ...new Set(
    notices.flatMap(({ notice }, at) =>
      isCall(notice) && isNew(notice, at) ? notice.publishedOn : [],
    ),
  ),
]

function lotItems(
  base: Notice,
  notices: readonly HashedNotice[],
  outcome: ReadonlyMap<string | null, LotAward>,
): LotItem[] {
  return base.lots.map((lot): LotItem => {
    const result = outcome.get(lot.id) ?? (base.lots.length === 1 ? outcome.get(null) : undefined)
    return {
      lot_id: lot.id,
      title: titleOf({ title: lot.title, language: base.language })?.text ?? null,
      state: lotState(base, lot.id, result, notices),
      estimated_value: lot.estimated,
      framework_max: lot.frameworkMax,
      cpv_main: lot.cpv.main,
      cpv_additional: lot.cpv.additional,
      deadlines: lot.deadlines,
      documents_url: lot.documents?.url ?? null,
      documents_restricted: lot.documentsRestricted,
      submission_url: lot.submission?.url ?? null,
      framework: lot.framework,
      dps: lot.dps,
      award: result ?? null,
    }
  })
}

const OUTCOMES: Readonly<Record<string, State>> = {
  'selec-w': 'awarded',
  'clos-nw': 'unsuccessful',
}

function lotState(
  base: Notice,
  lotId: string,
  result: LotAward | undefined,
  notices: readonly HashedNotice[],
): State {
  const outcome = OUTCOMES[result?.status ?? '']
  if (outcome) return outcome
  if (base.kind === 'dir-awa-pre' && result?.winners.length) return 'awarded'
  if (isCancelled(notices, lotId)) return 'cancelled'
  const lot = base.lots.find(({ id }) => id === lotId)
  return lot && isUnclear(lot) ? 'unclear' : plainState(base, notices)
}

/** Returns true if the only deadlines of a lot cannot be read. */
const isUnclear = ({ deadlines, unreadableDeadlines = [] }: Lot): boolean =>
  deadlines.length === 0 && unreadableDeadlines.length > 0

function plainState(base: Notice, notices: readonly HashedNotice[]): State {
  const last = notices.findLast(({ notice }) => isCall(notice))
  if (last && isSuspended(last.notice)) return 'suspended'
  return base.kind === 'planning' || base.kind === 'consultation' ? 'planned' : 'timed'
}

/** Awarded: some lot has a winner. Unsuccessful: all are closed without one. */
function stateOf(base: Notice, notices: readonly HashedNotice[], lots: readonly LotItem[]): State {
  if (isCancelled(notices, null)) return 'cancelled'
  const codes = notices.flatMap(({ notice }) => notice.result?.lots.map((l) => l.status) ?? [])
  if (codes.includes('selec-w')) return 'awarded'
  const winners = notices.flatMap(
    ({ notice }) => notice.result?.lots.flatMap((l) => l.winners) ?? [],
  )
  if (base.kind === 'dir-awa-pre' && winners.length > 0) return 'awarded'
  if (codes.length > 0 && codes.every((code) => code === 'clos-nw')) return 'unsuccessful'
  if (base.kind === 'cont-modif' || base.kind === 'completion') return 'awarded'
  if (base.terminated && isCall(base)) return 'cancelled' // of a plan; in a result it ends the plan
  const all = lots.map(({ state }) => state)
  if (all.length > 0 && all.every((state) => state === 'cancelled')) return 'cancelled'
  const running = all.filter((state) => state !== 'cancelled')
  const isOdd = running.length > 0 && running.every((state) => state === 'unclear')
  return isOdd ? 'unclear' : plainState(base, notices)
}

const placesOf = ({ place, lots }: Notice): Place => ({
  countries: [...new Set([place, ...lots.map((lot) => lot.place)].flatMap((p) => p.countries))],
  nuts: [...new Set([place, ...lots.map((lot) => lot.place)].flatMap((p) => p.nuts))],
})

/** Months after which a plan that no call has followed lapses (Directive 2014/24/EU, Art. 48). */
const PLAN_MONTHS = 12

/** End of a call or plan without deadlines; null if it has none. */
function lapseOf({ publishedOn, schema, endsOn }: Notice, state: State): string | null {
  if (state === 'planned') {
    const end = new Date(`${publishedOn}T00:00:00Z`)
    end.setUTCMonth(end.getUTCMonth() + PLAN_MONTHS)
    return end.toISOString()
  }
  if (endsOn) return `${endsOn}T23:59:59Z`
  return schema.startsWith('R2.') ? OLD_FORMS_END : null
}

/** Earlier notices that are named (OPP-090), such as a plan; without those of the call itself. */
function previousOf(notices: readonly HashedNotice[]): string[] {
  const own = new Set(notices.flatMap(({ notice }) => namesOf(notice)))
  const named = new Set(notices.flatMap(({ notice }) => notice.previous))
  return [...named].filter((name) => !own.has(name))
}
