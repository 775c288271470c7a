import type { ChangedSection, Notice } from '../model.ts'
import { type HashedNotice, isCall } from './tracks.ts'

const PROCEDURE = /^(PROCEDURE|)$/i

/** Returns the lots a change notice is about; none if it is about the procedure. */
export function lotsNamed(sections: readonly ChangedSection[]): string[] {
  const ids = [...new Set(sections.flatMap((section) => section.ids))]
  return ids.length === 0 || ids.some((id) => PROCEDURE.test(id))
    ? []
    : ids.filter((id) => /^(LOT|PAR)-\d+$/.test(id))
}

/** Returns true if the call, or one of its lots, is canceled and was not published anew since. */
export const isCancelled = (notices: readonly HashedNotice[], lotId: string | null): boolean =>
  notices.reduce((cancelled, { notice }) => {
    if (!isCall(notice) || notice.type === 'F14') return cancelled
    if (cancels(notice, lotId)) return true
    return cancelled && !reopens(notice, lotId, notices)
  }, false)

function cancels({ changes }: Notice, lotId: string | null): boolean {
  if (!changes?.reasons.includes('cancel')) return false
  const named = lotsNamed(changes.sections)
  return named.length === 0 || (lotId !== null && named.includes(lotId))
}

/** A later restatement reopens what was canceled if it can still be won. */
function reopens(notice: Notice, lotId: string | null, notices: readonly HashedNotice[]): boolean {
  if (notice.changes?.reasons.includes('cancel')) return false
  const ends = notice.lots.flatMap(({ deadlines }) => deadlines.map(({ latest }) => latest))
  const published = Date.parse(notice.publishedOn)
  if (ends.length > 0 && ends.every((end) => end < published)) return false
  const ofLot = lotId !== null && !notices.some(({ notice: other }) => cancels(other, null))
  return !ofLot || lotsNamed(notice.changes?.sections ?? []).includes(lotId)
}
