import type { Change } from './change.ts'
import { changesOf } from './detect.ts'
import { relevanceOf } from './relevance.ts'
import { type Tender, tenderOf } from './tender.ts'
import { type Held, lastCall, type Track, tracksOf } from './tracks.ts'

export interface Derived {
  readonly tenders: readonly Tender[]
  readonly changes: readonly (Change & { readonly score: number })[]
}

/** Independent of the order of arrival: a late notice corrects everything it affects. */
export function derive(family: readonly Held[]): Derived {
  const tracks = tracksOf(family)
  const found = tracks.map((track) => {
    const changes = changesOf(track)
    return { track, changes, tender: tenderOf(track, changes.at(-1)?.id ?? null) }
  })
  const shown = found.filter(({ track }) => !isSuperseded(track, tracks))
  return {
    tenders: shown.flatMap(({ tender }) => tender ?? []),
    changes: found.flatMap(({ changes, tender, track }) => {
      const score = tender?.relevance.score ?? scoreWithout(track)
      return changes.map((change) => ({ ...change, score }))
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

/** F14 identifies its subject by codes of its own. */
const scoreWithout = ({ notices }: Track): number => {
  const notice = notices.at(-1)?.notice
  return notice ? relevanceOf(notice).score : 0
}
