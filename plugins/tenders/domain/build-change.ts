import { hash } from 'node:crypto'
import type { Notice, Text } from '../model.ts'
import { type Change, linksOf, xpathOf } from './change.ts'
import type { DetectedChange } from './detected-change.ts'
import { impactOf } from './impact.ts'
import { officialTextsOf } from './official-text.ts'
import type { HashedNotice, Track } from './tracks.ts'

/** Builds the published change with its evidence. */
export function buildChange(
  detected: DetectedChange,
  current: HashedNotice,
  before: HashedNotice | undefined,
  track: Track,
): Change {
  const { notice, sha256 } = current
  const { difference, event, signal, lotIds } = detected
  const lotId = lotIds.length === 1 ? (lotIds[0] ?? null) : null
  const follows = track.predecessors.has(notice.number) || detected.method === 'result_code'
  const changed = follows || notice.type === 'F14' ? before : undefined
  const reference = notice.changes?.reference ?? null
  const old = changed?.notice.number ?? (isNumber(reference) ? reference : null)
  const main = { ...notice, ...(notice.title.length === 0 && before ? before.notice : {}) }
  const title = titleOf(main)
  const reasons = notice.changes?.reasons ?? []
  const { field, before: from, after } = difference
  const key = [notice.procedureId, ...lotIds, field, event, old, notice.number]
  return {
    id: hashOf(key),
    event,
    signal,
    verification_status: detected.verification,
    procedure_id: notice.procedureId,
    title: title?.text ?? null,
    title_lang: title?.lang ?? null,
    buyer: notice.buyers[0]?.name ?? null,
    country: notice.buyers[0]?.country ?? null,
    countries: countriesOf(notice),
    cpv: notice.cpv.main,
    lot_id: lotId,
    lot_ids: lotIds,
    lot_text: detected.lotText ?? null,
    field,
    before: from,
    after,
    published_at: notice.publishedOn,
    reason_codes: reasons,
    evidence: {
      method: detected.method,
      source_publication_number: notice.number,
      changed_publication_number: old,
      reference,
      xpath: notice.type === 'F14' ? '//CHANGES/CHANGE/NEW_VALUE' : xpathOf(field, lotId),
      reason_codes: reasons,
      official_text: officialText(notice),
      sha256: { source: sha256, changed: changed?.sha256 ?? null },
    },
    commercial_impact: impactOf(event, difference, detected),
    official_links: { ...linksOf(notice.number), changed: old === null ? null : linksOf(old) },
    affected_notice_ids: old === null ? [notice.number] : [old, notice.number],
    notice_ids: [...(old === null ? [] : [idOf(changed?.notice)]), idOf(notice)],
  }
}

const hashOf = (key: readonly unknown[]): string =>
  hash('sha256', JSON.stringify(key), 'hex').slice(0, 32)

/** Id of a change that shares all but its values with another one of the same notice. */
export const idWithValues = ({ id, before, after }: Change): string => hashOf([id, before, after])

const isNumber = (reference: string | null): boolean => /^\d{1,8}-\d{4}$/.test(reference ?? '')

const idOf = (notice: Notice | undefined): string | null =>
  notice?.noticeId ? `${notice.noticeId}-${notice.version ?? '01'}` : null

/** Lists each buyer's country once, the first buyer's first. */
export const countriesOf = ({ buyers, buyerCountries }: Notice): string[] =>
  buyerCountries
    ? [...buyerCountries]
    : [...new Set(buyers.flatMap(({ country }) => country ?? []))]

/** Picks the text in the language of the notice, if present. */
export const titleOf = ({
  title,
  language,
}: Pick<Notice, 'title' | 'language'>): Text | undefined =>
  title.find(({ lang }) => lang === language) ?? title[0]

/** The buyer's texts, each once. */
const officialText = (notice: Notice): Text[] =>
  officialTextsOf(notice).filter(
    ({ lang, text }, at, all) =>
      all.findIndex((other) => other.lang === lang && other.text === text) === at,
  )
