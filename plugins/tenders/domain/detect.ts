import type { FieldValue, Notice } from '../model.ts'
import { buildChange, idWithValues } from './build-change.ts'
import { isCancelled, lotsNamed } from './cancellation.ts'
import type { Change } from './change.ts'
import { correctionsFor } from './corrections.ts'
import type { DetectedChange } from './detected-change.ts'
import type { Event, Signal } from './enums.ts'
import { alignLots, type Difference, differences, factsOf } from './facts.ts'
import { impactOf } from './impact.ts'
import { contradicts, movesDeadline, namesDeadline } from './official-text.ts'
import { byPublication, type HashedNotice, isCall, lastCall, type Track } from './tracks.ts'

/** Detects all changes of a call, in the order of its notices. */
export function changesOf(track: Track): Change[] {
  const notices = [...track.notices].sort(byPublication)
  return distinctChanges(
    notices.flatMap((current, at) => {
      const earlier = notices.slice(0, at)
      const before = lastCall({ notices: earlier })
      return detectChanges(current, before, earlier, track).map((each) =>
        buildChange(each, current, before, track),
      )
    }),
  )
}

/** Drops exact duplicates; changes that differ only in their values get ids of their own. */
function distinctChanges(all: readonly Change[]): Change[] {
  const known = new Map<string, Change>()
  for (const change of all) {
    const first = known.get(change.id)
    if (first && hasSameValues(first, change)) continue
    const id = first ? idWithValues(change) : change.id
    if (!known.has(id)) known.set(id, first ? { ...change, id } : change)
  }
  return [...known.values()]
}

const valuesOf = ({ before, after }: Change): string => JSON.stringify([before, after])
const hasSameValues = (a: Change, b: Change): boolean => valuesOf(a) === valuesOf(b)

function detectChanges(
  current: HashedNotice,
  before: HashedNotice | undefined,
  earlier: readonly HashedNotice[],
  track: Track,
): DetectedChange[] {
  const { notice } = current
  if (notice.type === 'F14') return correctionChanges(notice, before?.notice)
  if (!isCall(notice)) {
    const corrected = correctsOutcome(notice) ? [declaredChange(notice)] : []
    return [...(before ? outcomeChanges(notice) : []), ...corrected]
  }
  const isWhole = !notice.partial && !before?.notice.partial // search hits have too few facts
  const follows = before !== undefined && isWhole && track.predecessors.has(notice.number)
  const changed = follows ? compareNotices(before.notice, notice) : []
  const status = statusChanges(notice, earlier)
  if (!notice.changes) return [...changed, ...status]
  const documents = documentChanges(notice, follows)
  const detected = [...changed, ...status, ...documents]
  const isMissed = !follows && movesDeadline(notice)
  return detected.length > 0 && !isMissed ? detected : [...detected, declaredChange(notice)]
}

/** A result that declares changes corrects one; without a reason it is just a result. */
const correctsOutcome = ({ changes }: Notice): boolean =>
  changes !== null && (changes.reasons.length > 0 || changes.sections.length > 0)

// ── By comparison ───────────────────────────────────────────────────────────────────────────

function compareNotices(before: Notice, after: Notice): DetectedChange[] {
  const aligned = alignLots(before, after)
  const lots = new Set(before.lots.map(({ id }) => id).filter((id) => hasLot(aligned, id)))
  const real = differences(factsOf(before), factsOf(aligned)).filter(
    ({ lotId }) => lotId === null || lots.has(lotId), // others are new or removed
  )
  return mergeByLot(real).map(({ difference, lotIds }) => {
    const isConflicting =
      DEADLINES.has(difference.field) && lotIds.some((id) => contradicts(after, id))
    const official = after.changes ? 'verified' : 'unverified'
    const verification = isConflicting ? 'conflicting' : official
    const kind = kindOf(difference)
    return { difference, ...kind, verification, method: 'structured_diff', lotIds }
  })
}

const hasLot = ({ lots }: Notice, id: string): boolean => lots.some((lot) => lot.id === id)

/** Merges identical changes of several lots into one. */
function mergeByLot(all: readonly Difference[]) {
  const groups = new Map<string, { difference: Difference; lotIds: string[] }>()
  for (const difference of all) {
    const { lotId, field, before, after } = difference
    const key = JSON.stringify([lotId === null, field, before, after])
    const group = groups.get(key) ?? { difference, lotIds: [] }
    if (lotId !== null) group.lotIds.push(lotId)
    groups.set(key, group)
  }
  return [...groups.values()]
}

const DEADLINES: ReadonlySet<string> = new Set(['BT-131', 'BT-1311', 'BT-630'])
const VALUES: ReadonlySet<string> = new Set(['BT-27', 'BT-271'])

function kindOf({ field, before, after }: Difference): Pick<DetectedChange, 'event' | 'signal'> {
  if (DEADLINES.has(field))
    return { signal: 'deadline', event: `deadline_${deadlineMove(before, after)}` }
  if (VALUES.has(field)) return { signal: 'value', event: valueEvent(before, after) }
  if (field === 'BT-15') return { signal: 'documents', event: 'documents_url_changed' }
  if (field === 'BT-18') return { signal: 'documents', event: 'submission_url_changed' }
  if (field === 'BT-137') return { signal: 'scope', event: 'lots_changed' }
  return { signal: 'scope', event: 'scope_changed' }
}

function deadlineMove(
  before: FieldValue,
  after: FieldValue,
): 'set' | 'removed' | 'extended' | 'shortened' {
  if (before?.type !== 'instant') return 'set'
  if (after?.type !== 'instant') return 'removed'
  const instants = before.at !== null && after.at !== null
  const [old, now] = instants
    ? [Date.parse(before.at), Date.parse(after.at)]
    : [Date.parse(`${before.local.slice(0, 16)}Z`), Date.parse(`${after.local.slice(0, 16)}Z`)]
  return now > old ? 'extended' : 'shortened'
}

function valueEvent(before: FieldValue, after: FieldValue): Event {
  if (before?.type !== 'amount') return 'value_set'
  if (after?.type !== 'amount') return 'value_removed'
  if (before.currency !== after.currency) return 'correction_other'
  const { value_delta: delta } = impactOf('value_increased', { before, after })
  return delta?.startsWith('-') ? 'value_decreased' : 'value_increased'
}

// ── By the notice's own declaration ─────────────────────────────────────────────────────────

const REASONS: Readonly<Record<string, Event>> = {
  cancel: 'cancelled',
  'cancel-intent': 'cancellation_intended',
  'susp-review': 'suspended',
  'info-release': 'information_released',
}

export const isSuspended = ({ changes }: Notice): boolean =>
  changes?.reasons.includes('susp-review') ?? false

function statusChanges(notice: Notice, earlier: readonly HashedNotice[]): DetectedChange[] {
  const { reasons = [], sections = [] } = notice.changes ?? {}
  const lotIds = lotsNamed(sections)
  const coded = reasons.flatMap((code): DetectedChange[] => {
    const event = REASONS[code]
    if (!event) return []
    const signal = event === 'information_released' ? 'other' : 'status'
    const after: FieldValue = { type: 'code', code }
    return [codedChange('BT-140', event, signal, after, lotIds)]
  })
  const last = earlier.findLast((current) => isCall(current.notice))
  const wasSuspended = last !== undefined && isSuspended(last.notice) && !isSuspended(notice)
  const now = { notice, sha256: '' }
  const wasCancelled = isCancelled(earlier, null) && !isCancelled([...earlier, now], null)
  const isReopened = wasSuspended || wasCancelled
  const isOver = coded.some(({ event }) => event === 'cancelled')
  const after: FieldValue = { type: 'code', code: reasons[0] ?? 'update-add' }
  return isReopened && !isOver
    ? [...coded, codedChange('BT-140', 'reopened', 'status', after, lotIds)]
    : coded
}

const codedChange = (
  field: 'BT-140' | 'BT-142' | 'BT-1501',
  event: Event,
  signal: Signal,
  after: FieldValue,
  lotIds: readonly string[],
): DetectedChange => ({
  difference: { lotId: null, field, before: null, after },
  event,
  signal,
  verification: 'verified',
  method: 'result_code',
  lotIds,
})

/** BT-718. */
function documentChanges({ changes }: Notice, follows: boolean): DetectedChange[] {
  const sections = (changes?.sections ?? []).filter(({ documents }) => documents)
  if (sections.length === 0) return []
  const code = sections.find(({ documentsDate }) => documentsDate)?.documentsDate ?? 'true'
  return [
    {
      difference: { lotId: null, field: 'BT-718', before: null, after: { type: 'code', code } },
      event: 'documents_updated',
      signal: 'documents',
      verification: follows ? 'verified' : 'declared',
      method: 'official_text',
      lotIds: lotsNamed(sections),
    },
  ]
}

/** A correction whose old value is unknown or only in its text. */
function declaredChange(notice: Notice): DetectedChange {
  const lotIds = lotsNamed(notice.changes?.sections ?? [])
  const conflict = notice.lots.some(({ id }) => contradicts(notice, id))
  const deadline = namesDeadline(notice)
  const after: FieldValue = deadline && { type: 'instant', at: deadline.at, local: deadline.local }
  const isDeadline = deadline !== null || movesDeadline(notice)
  return {
    difference: { lotId: null, field: isDeadline ? 'BT-131' : 'BT-141', before: null, after },
    event: 'correction_other',
    signal: isDeadline ? 'deadline' : 'other',
    verification: conflict ? 'conflicting' : 'declared',
    method: 'official_text',
    lotIds,
  }
}

/** F14 contains both values. One whose lots cannot be identified is declared only. */
function correctionChanges(notice: Notice, call: Notice | undefined): DetectedChange[] {
  const real = correctionsFor(notice, call).map((each): DetectedChange => {
    const { ids, unresolved, lotText, suspect } = each
    return {
      difference: { ...each, lotId: ids.length === 1 ? (ids[0] ?? null) : null },
      ...kindOf(each),
      verification: suspect ? 'suspect' : unresolved ? 'declared' : 'verified',
      method: 'f14_old_new',
      lotIds: ids,
      ...(unresolved && lotText !== undefined && { lotText }),
    }
  })
  const isReported = real.some(({ signal }) => signal === 'deadline') || !movesDeadline(notice)
  return real.length > 0 && isReported ? real : [...real, declaredChange(notice)]
}

/** Detects outcomes, only of calls that are stored. */
function outcomeChanges(notice: Notice): DetectedChange[] {
  if (notice.kind === 'cont-modif') {
    const after: FieldValue = { type: 'code', code: notice.type }
    return [codedChange('BT-1501', 'contract_modified', 'status', after, [])]
  }
  if (notice.kind !== 'result') return []
  const events = [
    ['selec-w', 'awarded'],
    ['clos-nw', 'not_awarded'],
  ] as const
  return events.flatMap(([code, event]) => {
    const lots = notice.result?.lots.filter(({ status }) => status === code) ?? []
    const ids = lots.flatMap(({ lotId }) => lotId ?? [])
    const after: FieldValue = { type: 'code', code }
    return lots.length > 0 ? [codedChange('BT-142', event, 'status', after, ids)] : []
  })
}
