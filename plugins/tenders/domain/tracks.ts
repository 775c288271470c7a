import { CALL_KINDS, type Notice } from '../model.ts'

/** A notice with the hash of its document. */
export interface HashedNotice {
  readonly notice: Notice
  /** Hex. */
  readonly sha256: string
}

/** The notices of one call, oldest first: the call, its corrections and its results. */
export interface Track {
  readonly notices: readonly HashedNotice[]
  /** Number of the preceding notice, by notice. */
  readonly predecessors: ReadonlyMap<string, string>
}

export const isCall = ({ kind }: Notice): boolean => CALL_KINDS.has(kind)

/** Orders by publication day, then by number. */
export const byPublication = (a: HashedNotice, b: HashedNotice): number =>
  a.notice.publishedOn < b.notice.publishedOn
    ? -1
    : a.notice.publishedOn > b.notice.publishedOn
      ? 1
      : ordinal(a.notice) - ordinal(b.notice)

const ordinal = ({ number }: Notice): number => Number(number.split('-')[0])

/** Returns the identifiers by which other notices may refer to this one. */
export const namesOf = ({ number, noticeId, version }: Notice): string[] =>
  noticeId === null ? [number] : [number, `${noticeId}-${version ?? '01'}`]

/** Returns the references of a notice: those it changes first, then those it follows. */
export const referencesOf = ({ changes, previous }: Notice): string[] => [
  ...new Set([...(changes?.reference ? [changes.reference] : []), ...previous]),
]

/** Procedure ids are sometimes reused wrongly, so buyer and main CPV division must match. */
export function isSameProcedure(a: Notice, b: Notice): boolean {
  if (a.procedureId === null || a.procedureId !== b.procedureId) return false
  const division = ({ cpv }: Notice): string => cpv.main?.slice(0, 2) ?? ''
  return division(a) === division(b) && sharesBuyer(a, b)
}

const sharesBuyer = (a: Notice, b: Notice): boolean => {
  const names = ({ buyers }: Notice): string[] =>
    buyers.flatMap(({ id, name }) => [...(id ? [id] : []), name.toLowerCase()])
  const known = new Set(names(a))
  return names(b).some((name) => name !== '' && known.has(name))
}

interface Growing {
  readonly notices: HashedNotice[]
  readonly predecessors: Map<string, string>
}

/** Splits a family of notices into its calls. */
export function tracksOf(family: readonly HashedNotice[]): Track[] {
  const tracks: Growing[] = []
  const byName = new Map<string, Growing>()
  for (const current of [...family].sort(byPublication)) {
    const { notice } = current
    const names = isCall(notice) ? [notice.changes?.reference ?? ''] : referencesOf(notice)
    const target = names.flatMap((name) => byName.get(name) ?? [])[0]
    const track = trackFor(notice, target, tracks)
    const grown = track ?? { notices: [], predecessors: new Map<string, string>() }
    if (!track) tracks.push(grown)
    const isChange = notice.changes?.reference != null && byName.has(notice.changes.reference)
    const isVersion = sameNotice(notice, grown)
    const before = lastCall(grown)
    if (before && isCall(notice) && (isChange || isVersion)) {
      grown.predecessors.set(notice.number, before.notice.number)
    }
    grown.notices.push(current)
    for (const name of namesOf(notice)) byName.set(name, grown)
  }
  return tracks
}

/** Returns the newest complete notice of a track; F14 contains only corrections. */
export const lastCall = ({ notices }: Pick<Track, 'notices'>): HashedNotice | undefined =>
  notices.findLast(({ notice }) => isCall(notice) && notice.type !== 'F14')

const sameNotice = ({ noticeId }: Notice, { notices }: Growing): boolean =>
  noticeId !== null && notices.some(({ notice }) => notice.noticeId === noticeId)

function trackFor(
  notice: Notice,
  target: Growing | undefined,
  tracks: readonly Growing[],
): Growing | undefined {
  if (!isCall(notice)) {
    return target ?? tracks.findLast((track) => lastCall(track)?.notice.kind === 'competition')
  }
  if (target && notice.changes) return target
  const version = tracks.find((track) => sameNotice(notice, track))
  if (version) return version
  if (!notice.changes) return undefined
  return tracks.findLast((track) => {
    const last = lastCall(track)?.notice
    return last !== undefined && last.kind === notice.kind && last.type === notice.type
  })
}
