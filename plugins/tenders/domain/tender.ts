import { createHash } from 'node:crypto'
import type { Amount, Buyer, Deadline, LotResult, Notice, Place, Winner } from '../model.ts'
import { addDecimals } from '../parse/decimal.ts'
import { linksOf, type OfficialLinks } from './change.ts'
import { isSuspended, lotsNamed } from './detect.ts'
import { type Relevance, relevanceOf } from './relevance.ts'
import { countriesOf, titleOf } from './tell.ts'
import { type Held, inOrder, isCall, lastCall, type Track } from './tracks.ts'

/** State independent of time; `timed` means open until the last deadline, then closed. */
export type State = 'planned' | 'timed' | 'suspended' | 'cancelled' | 'awarded' | 'unsuccessful'

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

export interface LotAward {
  readonly status: string | null
  readonly winners: readonly Winner[]
  readonly value: Amount | null
  readonly tenders: number | null
}

export interface Award {
  readonly total: Amount | null
  readonly winners: readonly Winner[]
  readonly lots: readonly (LotAward & { readonly lot_id: string | null })[]
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
  /** True if known only from the journal's search. */
  readonly partial: boolean
  readonly title: string | null
  readonly title_lang: string | null
  readonly buyers: readonly Buyer[]
  readonly country: string | null
  readonly countries: readonly string[]
  readonly place: Place
  readonly cpv_main: string | null
  readonly cpv_additional: readonly string[]
  readonly procedure_type: string | null
  readonly accelerated: boolean
  readonly legal_basis: string | null
  readonly estimated_value: (Amount & { readonly source: string }) | null
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
  /** Numbers of all notices, oldest first. */
  readonly publication_numbers: readonly string[]
}

/** All notices since are eForms (2019/1780). Older qualification systems may no longer be open. */
const OLD_FORMS_END = '2023-10-25T00:00:00Z'

/** Derives a tender from all notices of a call; undefined if they contain too little. */
export function tenderOf(track: Track, lastChangeId: string | null): Tender | undefined {
  const notices = [...track.notices].sort(inOrder)
  const corrected = notices.filter(({ notice }) => notice.type !== 'F14')
  const head = corrected.at(-1)?.notice
  const first = notices[0]
  if (!head || !first || head.kind === 'bri') return undefined
  const call = lastCall({ notices })
  const base = call ? corrections(call.notice, notices) : head
  const results = notices.map(({ notice }) => notice).filter(({ result }) => result !== null)
  const lots = lotItems(base, notices, outcomes(results))
  const title = titleOf(base)
  return {
    id: createHash('sha256').update(first.notice.number).digest('hex').slice(0, 24),
    publication_number: head.number,
    notice_id: head.noticeId,
    version: head.version,
    procedure_id: head.procedureId,
    kind: head.kind,
    notice_type: head.type,
    subtype: head.subtype,
    state: stateOf(base, notices, lots),
    modified: notices.some(({ notice }) => notice.changes !== null && isCall(notice)),
    partial: base.partial ?? false,
    title: title?.text ?? null,
    title_lang: title?.lang ?? null,
    buyers: base.buyers,
    country: base.buyers[0]?.country ?? null,
    countries: countriesOf(base),
    place: placesOf(base),
    cpv_main: base.cpv.main,
    cpv_additional: base.cpv.additional,
    procedure_type: base.procedureType,
    accelerated: base.accelerated,
    legal_basis: base.legalBasis,
    estimated_value: estimateOf(base),
    lots,
    documents_url: lots.find(({ documents_url }) => documents_url !== null)?.documents_url ?? null,
    published_at: head.publishedOn,
    first_published_at: first.notice.publishedOn,
    called_on: daysOfCalls(notices),
    relevance: relevanceOf(base),
    lapses_at: base.schema.startsWith('R2.') ? OLD_FORMS_END : null,
    last_change_id: lastChangeId,
    award: awardOf(results),
    source_urls: linksOf(head.number),
    publication_numbers: notices.map(({ notice }) => notice.number),
  }
}

const daysOfCalls = (notices: readonly Held[]): string[] => [
  ...new Set(
    notices.flatMap(({ notice }) =>
      isCall(notice) && notice.changes === null ? notice.publishedOn : [],
    ),
  ),
]

/** Applies corrections of F14 to the call. */
function corrections(call: Notice, notices: readonly Held[]): Notice {
  const since = notices
    .filter(({ notice }) => notice.type === 'F14')
    .flatMap(({ notice }) => (notice.publishedOn >= call.publishedOn ? notice.corrections : []))
  return since.reduce<Notice>((notice, { lotId, deadline, field, after }) => {
    if (field === 'BT-27' && lotId === null && after?.type === 'amount' && after.amount !== null) {
      const estimated = { amount: after.amount, currency: after.currency ?? '' }
      return { ...notice, estimated }
    }
    if (!deadline) return notice
    const lots = notice.lots.map((lot) => {
      if (lotId !== null && lot.id !== lotId) return lot
      const kind = lot.deadlines[0]?.kind ?? 'tenders'
      return { ...lot, deadlines: [{ ...deadline, kind }] }
    })
    return { ...notice, lots }
  }, call)
}

/** Latest outcome by lot; outcomes without a lot under null. */
function outcomes(results: readonly Notice[]): ReadonlyMap<string | null, LotResult> {
  const found = results.flatMap(({ result }) => result?.lots ?? [])
  return new Map(found.map((lot) => [lot.lotId, lot] as const))
}

function lotItems(
  base: Notice,
  notices: readonly Held[],
  outcome: ReadonlyMap<string | null, LotResult>,
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
      award: result
        ? {
            status: result.status,
            winners: result.winners,
            value: result.value,
            tenders: result.tenders,
          }
        : null,
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
  result: LotResult | undefined,
  notices: readonly Held[],
): State {
  const outcome = OUTCOMES[result?.status ?? '']
  if (outcome) return outcome
  if (isCancelled(notices, lotId)) return 'cancelled'
  return plainState(base, notices)
}

/** Returns the canceled lots by the newest notice, because each notice is complete. */
const isCancelled = (notices: readonly Held[], lotId: string | null): boolean =>
  notices.some(({ notice }) => {
    const { changes } = notice
    if (!isCall(notice) || !changes?.reasons.includes('cancel')) return false
    const named = lotsNamed(changes.sections)
    return named.length === 0 || (lotId !== null && named.includes(lotId))
  })

function plainState(base: Notice, notices: readonly Held[]): State {
  const last = notices.findLast(({ notice }) => isCall(notice))
  if (last && isSuspended(last.notice)) return 'suspended'
  return base.kind === 'planning' || base.kind === 'consultation' ? 'planned' : 'timed'
}

/** Awarded: some lot has a winner, none is open. Unsuccessful: all closed without one. */
function stateOf(base: Notice, notices: readonly Held[], lots: readonly LotItem[]): State {
  if (isCancelled(notices, null)) return 'cancelled'
  const codes = notices.flatMap(({ notice }) => notice.result?.lots.map((l) => l.status) ?? [])
  if (codes.includes('selec-w') && !codes.includes('open-nw')) return 'awarded'
  if (codes.length > 0 && codes.every((code) => code === 'clos-nw')) return 'unsuccessful'
  if (base.kind === 'cont-modif' || base.kind === 'completion') return 'awarded'
  if (base.terminated && isCall(base)) return 'cancelled' // of a plan; in a result it ends the plan
  const all = lots.map(({ state }) => state)
  if (all.length > 0 && all.every((state) => state === 'cancelled')) return 'cancelled'
  return plainState(base, notices)
}

const placesOf = ({ place, lots }: Notice): Place => ({
  countries: [...new Set([place, ...lots.map((lot) => lot.place)].flatMap((p) => p.countries))],
  nuts: [...new Set([place, ...lots.map((lot) => lot.place)].flatMap((p) => p.nuts))],
})

/** Value of the procedure; otherwise the sum of its lots in one currency; otherwise a maximum. */
function estimateOf(notice: Notice): Tender['estimated_value'] {
  if (notice.estimated) return { ...notice.estimated, source: 'procedure' }
  const values = notice.lots.map(({ estimated }) => estimated)
  const currency = values[0]?.currency
  const amounts = values.flatMap((value) =>
    value?.currency === currency ? (value?.amount ?? []) : [],
  )
  if (currency && amounts.length === notice.lots.length) {
    return { amount: addDecimals(amounts), currency, source: 'lots_sum' }
  }
  return notice.frameworkMax && { ...notice.frameworkMax, source: 'framework_max' }
}

function awardOf(results: readonly Notice[]): Award | null {
  if (results.length === 0) return null
  const lots = [...outcomes(results).values()].map(
    ({ lotId, status, winners, value, tenders }) => ({
      lot_id: lotId,
      status,
      winners,
      value,
      tenders,
    }),
  )
  const winners = lots.flatMap((lot) => lot.winners)
  return {
    total: results.at(-1)?.result?.total ?? null,
    winners: winners.filter(
      ({ name }, at) => winners.findIndex((other) => other.name === name) === at,
    ),
    lots,
  }
}
