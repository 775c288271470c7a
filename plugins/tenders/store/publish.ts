import type { Transaction } from 'agenthub/plugin'
import { derive } from '../domain/derive.ts'
import { namesOf, referencesOf } from '../domain/tracks.ts'
import type { Notice } from '../model.ts'
import { familiesOf, type Member } from './families.ts'
import { changeRow, tenderRow } from './rows.ts'
import { causeOf, isNoticeError, recordSetAside } from './set-aside.ts'
import type { Source } from './types.ts'
import { CODE_VERSION } from './version.ts'

const PAGE = 500

interface Arrived {
  readonly number: string
  readonly snapshot: bigint
  readonly notice: Notice
  readonly sha256: Buffer
}

/**
 * Publishes the arrivals of snapshots in one transaction, so that readers see all or none. A notice
 * that fails is set aside until the next version of the code; all others are published.
 * @param at detection time of changes
 */
export async function publish(
  transaction: Transaction,
  snapshots: readonly bigint[],
  at: Date,
): Promise<void> {
  for (;;) {
    const { rows } = await transaction.query<Arrived>(
      `SELECT number, snapshot, notice, sha256 FROM arrival
       WHERE snapshot = ANY ($1) AND failed_version IS DISTINCT FROM $2 ORDER BY number LIMIT $3`,
      [snapshots, CODE_VERSION, PAGE],
    )
    if (rows.length === 0) return
    await publishOrSetAside(transaction, rows, at)
  }
}

/** Publishes notices; if that fails, halves them until those to blame are found. */
async function publishOrSetAside(
  transaction: Transaction,
  rows: readonly Arrived[],
  at: Date,
): Promise<void> {
  await transaction.query('SAVEPOINT arrivals')
  try {
    await publishArrivals(transaction, rows, at)
    await transaction.query('RELEASE SAVEPOINT arrivals')
    return
  } catch (error) {
    if (!isNoticeError(error)) throw error
    await transaction.query('ROLLBACK TO SAVEPOINT arrivals')
    await transaction.query('RELEASE SAVEPOINT arrivals')
    const [first] = rows
    if (rows.length === 1 && first) return setAside(transaction, first, error, at)
  }
  const half = Math.ceil(rows.length / 2)
  await publishOrSetAside(transaction, rows.slice(0, half), at)
  await publishOrSetAside(transaction, rows.slice(half), at)
}

async function publishArrivals(
  transaction: Transaction,
  rows: readonly Arrived[],
  at: Date,
): Promise<void> {
  const arrived = rows.map(({ notice, sha256, snapshot }) => ({
    notice,
    sha256: sha256.toString('hex'),
    snapshot,
  }))
  const numbers = rows.map(({ number }) => number)
  const { families, touched } = await familiesOf(transaction, arrived)
  await writeNotices(transaction, [...families.values()].flat())
  await writeAnswers(transaction, { families, touched }, at)
  await noteWanted(
    transaction,
    arrived.map(({ notice }) => notice),
  )
  await transaction.query('DELETE FROM arrival WHERE number = ANY ($1)', [numbers])
  await transaction.query('DELETE FROM refusal WHERE number = ANY ($1)', [numbers])
}

/** Leaves a notice for the next version. If even the record fails, its arrival still shows it. */
async function setAside(
  transaction: Transaction,
  { number, snapshot, sha256 }: Arrived,
  error: unknown,
  at: Date,
): Promise<void> {
  const { rows } = await transaction.query<{ day: string; source: Source }>(
    `WITH failed AS (UPDATE arrival SET failed_version = $2 WHERE number = $1)
     SELECT day, source FROM snapshot WHERE id = $3`,
    [number, CODE_VERSION, snapshot],
  )
  await transaction.query('SAVEPOINT record')
  try {
    const from = { sha256, number, stage: 'publish', at, ...rows[0]! } as const
    await recordSetAside(transaction, { ...from, ...causeOf(error) })
  } catch {
    await transaction.query('ROLLBACK TO SAVEPOINT record')
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
  refers: referencesOf(notice),
  notice,
})

async function writeAnswers(
  transaction: Transaction,
  { families, touched }: Awaited<ReturnType<typeof familiesOf>>,
  at: Date,
): Promise<void> {
  const derived = [...families].map(([family, notices]) => ({ family, ...derive(notices) }))
  const tenders = derived.flatMap(({ family, tenders }) => tenders.map((t) => tenderRow(t, family)))
  const changes = derived.flatMap(({ family, changes }) => changes.map((c) => changeRow(c, family)))
  await transaction.query('DELETE FROM tender WHERE family = ANY ($1)', [touched])
  await transaction.query(
    `WITH r AS (
       SELECT * FROM json_to_recordset($1::json) AS r (id text, family bigint, number text,
         numbers text[], first_on date, called_on date[], kind text, state text, score smallint,
         closes_at timestamptz, deadlines timestamptz[], candidates timestamptz[],
         countries text[], cpv text[], item json)
     ), stored AS (
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
         event text, signal text, verification text, countries text[], score smallint,
         tender text, cpv text[], item json)
     ), stored AS (
       INSERT INTO change (id, family, published_on, event, signal, verification, countries,
         score, tender, cpv, detected_at)
       SELECT id, family, published_on, event, signal, verification, countries, score, tender,
         cpv, $2 FROM r
       ON CONFLICT (id) DO UPDATE SET (family, published_on, verification, countries, score,
         tender, cpv) = (excluded.family, excluded.published_on, excluded.verification,
         excluded.countries, excluded.score, excluded.tender, excluded.cpv))
     INSERT INTO change_item (id, item) SELECT id, item FROM r
     ON CONFLICT (id) DO UPDATE SET item = excluded.item`,
    [JSON.stringify(changes), at],
  )
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
