import type { Notice } from '../model.ts'

/** A notice with the hash of its document. */
export interface Held {
  readonly notice: Notice
  /** Hex. */
  readonly sha256: string
}

/** The notices of one call, oldest first: what was called for, its corrections and its results. */
export interface Track {
  readonly notices: readonly Held[]
  /** Of each notice that follows another one: that one's number. */
  readonly predecessors: ReadonlyMap<string, string>
}

const CALLS: ReadonlySet<string> = new Set(['planning', 'consultation', 'competition'])
export const isCall = ({ kind }: Notice): boolean => CALLS.has(kind)

/** By day of publication, then by number. */
export const inOrder = (a: Held, b: Held): number =>
  a.notice.publishedOn < b.notice.publishedOn
    ? -1
    : a.notice.publishedOn > b.notice.publishedOn
      ? 1
      : ordinal(a.notice) - ordinal(b.notice)

const ordinal = ({ number }: Notice): number => Number(number.split('-')[0])

/** The names by which another notice may refer to this one. */
export const namesOf = ({ number, noticeId, version }: Notice): string[] =>
  noticeId === null ? [number] : [number, `${noticeId}-${version ?? '01'}`]

/** What a notice refers to: what it changes first, then what it follows. */
export const refersTo = ({ changes, previous }: Notice): string[] => [
  ...new Set([...(changes?.reference ? [changes.reference] : []), ...previous]),
]

/**
 * Whether two notices of the same procedure id are of one procurement: the id is re-used wrongly
 * for others, so buyer and division of the main CPV have to agree.
 */
export function belongTogether(a: Notice, b: Notice): boolean {
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
  readonly notices: Held[]
  readonly predecessors: Map<string, string>
}

/** The calls that a family of notices consists of. */
export function tracksOf(family: readonly Held[]): Track[] {
  const tracks: Growing[] = []
  const byName = new Map<string, { readonly track: Growing; readonly number: string }>()
  for (const held of [...family].sort(inOrder)) {
    const { notice } = held
    const names = isCall(notice) ? [notice.changes?.reference ?? ''] : refersTo(notice)
    const target = names.flatMap((name) => byName.get(name) ?? [])[0]
    const track = trackFor(notice, target?.track, tracks)
    const grown = track ?? { notices: [], predecessors: new Map<string, string>() }
    if (!track) tracks.push(grown)
    const isChange = notice.changes?.reference != null && byName.has(notice.changes.reference)
    const isVersion = sameNotice(notice, grown)
    const before = lastCall(grown)
    if (before && isCall(notice) && (isChange || isVersion)) {
      grown.predecessors.set(notice.number, before.notice.number)
    }
    grown.notices.push(held)
    for (const name of namesOf(notice)) byName.set(name, { track: grown, number: notice.number })
  }
  return tracks
}

/** The newest notice of a track that says all of the call: F14 says only what it corrects. */
export const lastCall = ({ notices }: Pick<Track, 'notices'>): Held | undefined =>
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
