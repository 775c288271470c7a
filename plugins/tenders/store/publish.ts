import type { Transaction } from 'agenthub/plugin'
import type { Change } from '../domain/change.ts'
import { derive } from '../domain/derive.ts'
import type { Tender } from '../domain/tender.ts'
import { namesOf, refersTo } from '../domain/tracks.ts'
import type { Deadline, Notice } from '../model.ts'
import { familiesOf, type Member } from './families.ts'

const PAGE = 500
/** PostgreSQL's `infinity`, for a tender without a certain end. */
const NEVER = 'infinity'

interface Arrived {
  readonly snapshot: bigint
  readonly notice: Notice
  readonly sha256: Buffer
}

/** In one transaction, so that readers see all or none; `at` is the detection time of changes. */
export async function publish(
  transaction: Transaction,
  snapshots: readonly bigint[],
  at: Date,
): Promise<void> {
  for (;;) {
    const { rows } = await transaction.query<Arrived>(
      `DELETE FROM arrival WHERE number IN (
         SELECT number FROM arrival WHERE snapshot = ANY ($1) ORDER BY number LIMIT $2)
       RETURNING snapshot, notice, sha256`,
      [snapshots, PAGE],
    )
    if (rows.length === 0) return
    const arrived = rows.map(({ notice, sha256, snapshot }) => ({
      notice,
      sha256: sha256.toString('hex'),
      snapshot,
    }))
    const { families, touched } = await familiesOf(transaction, arrived)
    await writeNotices(transaction, [...families.values()].flat())
    await writeAnswers(transaction, { families, touched }, at)
    await noteWanted(
      transaction,
      arrived.map(({ notice }) => notice),
    )
  }
}

async function writeNotices(transaction: Transaction, members: readonly Member[]): Promise<void> {
  await transaction.query(
    `INSERT INTO notice (number, family, snapshot, published_on, sha256, notice_id, version,
       procedure_id, refers, notice)
     SELECT r.number, r.family, r.snapshot, r.published_on, decode(r.sha256, 'hex'), r.notice_id,
       r.version, r.procedure_id, r.refers, r.notice
     FROM jsonb_to_recordset($1::jsonb) AS r (number text, family bigint, snapshot bigint,
       published_on date, sha256 text, notice_id text, version text, procedure_id text,
       refers text[], notice jsonb)
     ON CONFLICT (number) DO UPDATE SET (family, snapshot, published_on, sha256, notice_id, version,
       procedure_id, refers, notice) = (excluded.family, excluded.snapshot,
       excluded.published_on, excluded.sha256, excluded.notice_id, excluded.version,
       excluded.procedure_id, excluded.refers, excluded.notice)
     WHERE (notice.family, notice.sha256) IS DISTINCT FROM (excluded.family, excluded.sha256)`,
    [JSON.stringify(members.map(noticeRow))],
  )
}

const noticeRow = ({ notice, sha256, family, snapshot }: Member) => ({
  number: notice.number,
  family: String(family),
  snapshot: String(snapshot),
  published_on: notice.publishedOn,
  sha256,
  notice_id: notice.noticeId,
  version: notice.version,
  procedure_id: notice.procedureId,
  refers: refersTo(notice),
  notice,
})

async function writeAnswers(
  transaction: Transaction,
  { families, touched }: Awaited<ReturnType<typeof familiesOf>>,
  at: Date,
): Promise<void> {
  const derived = [...families].map(([family, held]) => ({ family, ...derive(held) }))
  const tenders = derived.flatMap(({ family, tenders }) => tenders.map((t) => tenderRow(t, family)))
  const changes = derived.flatMap(({ family, changes }) => changes.map((c) => changeRow(c, family)))
  await transaction.query('DELETE FROM tender WHERE family = ANY ($1)', [touched])
  await transaction.query(
    `WITH r AS (
       SELECT * FROM json_to_recordset($1::json) AS r (id text, family bigint, number text,
         numbers text[], first_on date, called_on date[], kind text, state text, score smallint,
         closes_at timestamptz, deadlines timestamptz[], candidates timestamptz[],
         countries text[], cpv text[], item json)
     ), told AS (
       INSERT INTO tender (id, family, number, numbers, first_on, called_on, kind, state, score,
         closes_at, deadlines, candidates, closes_first, countries, cpv)
       SELECT id, family, number, numbers, first_on, called_on, kind, state, score, closes_at,
         deadlines, candidates, (SELECT min(d) FROM unnest(candidates) d), countries, cpv FROM r)
     INSERT INTO tender_item (id, item) SELECT id, item FROM r`,
    [JSON.stringify(tenders)],
  )
  await transaction.query('DELETE FROM change WHERE family = ANY ($1) AND id <> ALL ($2)', [
    touched,
    changes.map(({ id }) => id),
  ])
  await transaction.query(
    `WITH r AS (
       SELECT * FROM json_to_recordset($1::json) AS r (id text, family bigint, published_on date,
         event text, signal text, verification text, countries text[], score smallint, item json)
     ), told AS (
       INSERT INTO change (id, family, published_on, event, signal, verification, countries,
         score, detected_at)
       SELECT id, family, published_on, event, signal, verification, countries, score, $2 FROM r
       ON CONFLICT (id) DO UPDATE SET (family, published_on, verification, countries, score) =
         (excluded.family, excluded.published_on, excluded.verification, excluded.countries,
          excluded.score))
     INSERT INTO change_item (id, item) SELECT id, item FROM r
     ON CONFLICT (id) DO UPDATE SET item = excluded.item`,
    [JSON.stringify(changes), at],
  )
}

const TENTHS = 10
const tenths = (score: number): number => Math.round(score * TENTHS)

function tenderRow(tender: Tender, family: bigint) {
  const lots = tender.lots.filter(({ state }) => state !== 'cancelled')
  const effective = lots.flatMap(({ deadlines }) => effectiveOf(deadlines) ?? [])
  const iso = (ms: number): string => new Date(ms).toISOString()
  const codes = [tender.cpv_main ?? '', ...tender.cpv_additional].concat(
    tender.lots.flatMap((lot) => [lot.cpv_main ?? '', ...lot.cpv_additional]),
  )
  const isOver = tender.state === 'timed' && !CALLS.has(tender.kind)
  const last = effective.reduce<number | undefined>(
    (most, each) => Math.max(most ?? each.told, each.told),
    undefined,
  )
  return {
    id: tender.id,
    family: String(family),
    number: tender.publication_number,
    numbers: tender.publication_numbers,
    first_on: tender.first_published_at,
    called_on: tender.called_on,
    kind: tender.kind,
    state: tender.state,
    score: tenths(tender.relevance.score),
    closes_at: isOver ? '-infinity' : last === undefined ? (tender.lapses_at ?? NEVER) : iso(last),
    deadlines: effective.map(({ told }) => iso(told)),
    candidates: effective.map(({ earliest }) => iso(earliest)),
    countries: tender.countries,
    cpv: prefixesOf(codes),
    item: tender,
  }
}

const CALLS: ReadonlySet<string> = new Set(['planning', 'consultation', 'competition'])

/**
 * Picks the effective deadline of a lot: the first, because missing it excludes a bidder. Without a
 * certain offset it ends when it has ended everywhere.
 */
export function effectiveOf(deadlines: readonly Deadline[]) {
  const all = deadlines.map((deadline) => ({
    deadline,
    told: deadline.at === null ? deadline.latest : Date.parse(deadline.at),
    earliest: deadline.earliest,
  }))
  return all.sort((a, b) => a.told - b.told)[0]
}

const PREFIX_MIN = 2
const prefixesOf = (codes: readonly string[]): string[] => [
  ...new Set(
    codes.flatMap((code) =>
      Array.from({ length: Math.max(0, code.length - PREFIX_MIN + 1) }, (_, more) =>
        code.slice(0, PREFIX_MIN + more),
      ),
    ),
  ),
]

function changeRow({ score, ...change }: Change & { readonly score: number }, family: bigint) {
  return {
    id: change.id,
    family: String(family),
    published_on: change.published_at,
    event: change.event,
    signal: change.signal,
    verification: change.verification_status,
    countries: change.countries,
    score: tenths(score),
    item: change,
  }
}

/** Updates the list of missing notices that change notices refer to. */
async function noteWanted(transaction: Transaction, notices: readonly Notice[]): Promise<void> {
  const changing = notices.filter(({ changes }) => changes?.reference)
  await transaction.query(
    `INSERT INTO wanted (reference, by_number)
     SELECT r, n FROM unnest($1::text[], $2::text[]) AS t (r, n)
     WHERE NOT EXISTS (SELECT FROM notice WHERE number = r
       OR notice_id || '-' || coalesce(version, '01') = r)
     ON CONFLICT DO NOTHING`,
    [changing.map(({ changes }) => changes?.reference), changing.map(({ number }) => number)],
  )
  await transaction.query('DELETE FROM wanted WHERE reference = ANY ($1)', [
    notices.flatMap(namesOf),
  ])
}
