import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { derive } from '../../../plugins/tenders/domain/derive.ts'
import { SCORE_MIN } from '../../../plugins/tenders/domain/relevance.ts'
import { isCall } from '../../../plugins/tenders/domain/tracks.ts'
import type { Document, Notice } from '../../../plugins/tenders/model.ts'
import { readNotice } from '../../../plugins/tenders/parse/notice.ts'
import { readHits } from '../../../plugins/tenders/parse/search-hit.ts'
import { Unreadable } from '../../../plugins/tenders/parse/xml.ts'
import { atLeast, none, type Report } from '../report.ts'
import { documentFacts } from './document-facts.ts'
import { noticeFacts } from './notice-facts.ts'

type Quality = Pick<Report, 'figures' | 'targets' | 'tables'>
type Tables = NonNullable<Report['tables']>

const DATA = new URL('../../../../shared/data/ted/', import.meta.url)

/** Measures facts, changes and relevance on real notices; nothing if there are none. */
export function tenderQuality(folder: URL = DATA): Quality {
  if (!existsSync(folder)) return { figures: {}, targets: [], tables: [] }
  const documents = ['eforms', 'legacy', 'sdk-examples'].flatMap((name) =>
    filesIn(new URL(`${name}/`, folder), '.xml'),
  )
  const read = documents.map((xml) => ({ xml: xml.toString('utf8'), notice: readNotice(xml) }))
  const hits = filesIn(new URL('search-api/', folder), '.json').flatMap((json) =>
    readHits(json.toString('utf8')).filter((hit): hit is Notice => !(hit instanceof Unreadable)),
  )
  const notices = read.flatMap(({ notice }) => (isPublished(notice) ? notice : [])).concat(hits)
  const parts = [factQuality(read), changeQuality(notices), relevanceQuality(notices)]
  return {
    figures: Object.assign({}, ...parts.map(({ figures }) => figures)),
    targets: parts.flatMap(({ targets }) => targets),
    tables: parts.flatMap(({ tables = [] }) => tables),
  }
}

const filesIn = (folder: URL, ending: string): Buffer[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith(ending))
        .map((name) => readFileSync(new URL(name, folder)))
    : []

const isPublished = (notice: Document): notice is Notice =>
  notice.number !== null && notice.publishedOn !== null

/** Compares what the service read with an independent reader of the same documents. */
function factQuality(read: readonly { xml: string; notice: Document }[]): Quality {
  const rows = read.flatMap(({ xml, notice }) => {
    const [expected, found] = [documentFacts(xml), noticeFacts(notice)].map(
      (facts) => new Set(facts.map((fact) => fact.join(': '))),
    ) as [Set<string>, Set<string>]
    return [
      ...[...expected].map(
        (fact) => [notice.number ?? '', 'missing', fact, found.has(fact)] as const,
      ),
      ...[...found].map(
        (fact) => [notice.number ?? '', 'wrong', fact, expected.has(fact)] as const,
      ),
    ]
  })
  const compared = rows.filter(([, kind]) => kind === 'missing').length
  const wrong = rows
    .filter(([, , , isRight]) => !isRight)
    .map(([number, kind, fact]) => [number, kind, fact])
  return {
    figures: { facts_compared: compared, facts_wrong: wrong.length },
    targets: [none('facts that differ from an independent reader', wrong.length)],
    tables: listed('Facts that differ', ['notice', 'kind', 'fact'], wrong),
  }
}

/** Recognition of texts that move a deadline, each notice alone, without an earlier version. */
function changeQuality(notices: readonly Notice[]): Quality {
  const moved = new Set(judged('deadline_moved'))
  const changeNotices = notices.filter(
    (notice) => notice.changes && isCall(notice) && notice.type !== 'F14',
  )
  const found = changeNotices.map((notice) => {
    const { changes } = derive([{ notice, sha256: '' }])
    return { number: notice.number, isFound: changes.some(({ signal }) => signal === 'deadline') }
  })
  const missed = found.filter(({ number, isFound }) => moved.has(number) && !isFound)
  const invented = found.filter(({ number, isFound }) => !moved.has(number) && isFound)
  const all = found.filter(({ number }) => moved.has(number)).length
  const share = all === 0 ? 0 : rounded((all - missed.length) / all)
  return {
    figures: {
      changes_judged: changeNotices.length,
      changes_moving: all,
      changes_recognized: share,
    },
    targets: [
      atLeast('texts that move a deadline and are recognized', share, 0.95),
      none('texts that move none and are taken for one', invented.length),
    ],
    tables: listed(
      'Deadlines',
      ['notice', 'mistake'],
      [
        ...missed.map(({ number }) => [number, 'missed']),
        ...invented.map(({ number }) => [number, 'invented']),
      ],
    ),
  }
}

/** Precision and recall of the feed's threshold; one half of the notices is never looked at. */
function relevanceQuality(notices: readonly Notice[]): Quality {
  const relevant = new Set(judged('relevant'))
  const known = new Set([...relevant, ...judged('irrelevant')])
  const scored = notices.flatMap((notice) => {
    const { number } = notice
    if (!known.has(number)) return []
    const { score } = derive([{ notice, sha256: '' }]).tenders[0]?.relevance ?? { score: 0 }
    return [{ number, score, isFound: score >= SCORE_MIN, isRelevant: relevant.has(number) }]
  })
  const seen = scored.filter(({ number }) => !isUntouched(number))
  const untouched = rates(scored.filter(({ number }) => isUntouched(number)))
  const tuned = rates(seen)
  const mistakes = seen.filter(({ isFound, isRelevant }) => isFound !== isRelevant)
  return {
    figures: {
      relevance_judged: scored.length,
      relevance_precision_tuned: tuned.precision,
      relevance_recall_tuned: tuned.recall,
      relevance_precision: untouched.precision,
      relevance_recall: untouched.recall,
    },
    targets: [
      atLeast('judged notices', scored.length, 400),
      atLeast('precision on the untouched half', untouched.precision, 0.9),
      atLeast('recall on the untouched half', untouched.recall, 0.9),
    ],
    tables: listed(
      'Relevance, mistakes in the tuned half',
      ['notice', 'mistake', 'score'],
      mistakes.map(({ number, score, isFound }) => [
        number,
        isFound ? 'irrelevant' : 'missed',
        score,
      ]),
    ),
  }
}

/** Half of the notices, by the hash of the number; its mistakes are not listed. */
const isUntouched = (number: string): boolean =>
  (createHash('sha256').update(number).digest()[0] ?? 0) % 2 === 1

function rates(scored: readonly { isFound: boolean; isRelevant: boolean }[]) {
  const found = scored.filter(({ isFound }) => isFound)
  const relevant = scored.filter(({ isRelevant }) => isRelevant)
  const right = found.filter(({ isRelevant }) => isRelevant).length
  const share = (of: number): number => (of === 0 ? 0 : rounded(right / of))
  return { precision: share(found.length), recall: share(relevant.length) }
}

const rounded = (share: number): number => Math.round(share * 1_000) / 1_000

/** Publication numbers of a section of the judgments. */
function judged(section: string): string[] {
  const text = readFileSync(new URL('judged.txt', import.meta.url), 'utf8')
  const [, body = ''] = text.split(`[${section}]`)
  return body
    .split('\n[')[0]!
    .split(/\s+/)
    .filter((number) => number !== '')
}

const listed = (
  title: string,
  columns: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): Tables => (rows.length === 0 ? [] : [{ title, columns, rows }])
