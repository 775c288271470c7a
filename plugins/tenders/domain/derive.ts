import type { Notice } from '../model.ts'
import type { Change } from './change.ts'
import { changesOf } from './detect.ts'
import { relevanceOf } from './relevance.ts'
import { type Tender, tenderOf } from './tender.ts'
import { type HashedNotice, lastCall, type Track, tracksOf } from './tracks.ts'

export interface Derived {
  readonly tenders: readonly Tender[]
  readonly changes: readonly TenderChange[]
}

/** Change with the columns by which it is searched. */
export type TenderChange = Change & {
  readonly score: number
  /** Id of the tender; null if it is not published. */
  readonly tender: string | null
  readonly codes: readonly string[]
}

/** Derives tenders and changes, whatever the order of arrival: a late notice corrects all. */
export function derive(family: readonly HashedNotice[]): Derived {
  const tracks = tracksOf(family)
  const found = tracks.map((track) => {
    const changes = changesOf(track)
    return { track, changes, tender: tenderOf(track, changes.at(-1)?.id ?? null) }
  })
  const shown = found.filter(({ track }) => !isSuperseded(track, tracks))
  return {
    tenders: shown.flatMap(({ tender }) => tender ?? []),
    changes: found.flatMap(({ changes, tender, track }) => {
      const newest = track.notices.at(-1)?.notice
      // F14 identifies its subject by codes of its own
      const score = tender?.relevance.score ?? (newest ? relevanceOf(newest).score : 0)
      const id = (!isSuperseded(track, tracks) && tender?.id) || null
      const codes = codesOf(lastCall(track)?.notice ?? newest)
      return changes.map((change) => ({ ...change, score, tender: id, codes }))
    }),
  }
}

/** Returns true if a planned procurement has been superseded by its competition. */
const isSuperseded = (track: Track, tracks: readonly Track[]): boolean => {
  const call = lastCall(track)?.notice
  if (call?.kind !== 'planning' && call?.kind !== 'consultation') return false
  return tracks.some((other) => {
    const later = lastCall(other)?.notice
    return later?.kind === 'competition' && later.publishedOn >= call.publishedOn
  })
}

/** All CPV codes of a notice and its lots. */
const codesOf = (notice: Notice | undefined): string[] =>
  [notice, ...(notice?.lots ?? [])].flatMap((part) =>
    part ? [...(part.cpv.main === null ? [] : [part.cpv.main]), ...part.cpv.additional] : [],
  )
