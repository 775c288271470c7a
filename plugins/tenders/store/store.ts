import { createHash } from 'node:crypto'
import type { Clock, Database } from 'agenthub/plugin'
import { refersTo } from '../domain/tracks.ts'
import type { Notice } from '../model.ts'
import { readNotice } from '../parse/notice.ts'
import { Unreadable } from '../parse/xml.ts'
import { closeSnapshots, openSnapshot, snapshots } from './snapshots.ts'
import type { Acceptance, Arriving, Snapshot, Source, Store, Wanted } from './types.ts'

/** The tenders' part of the database. */
export const openStore = (database: Database, clock: Clock): Store => ({
  openSnapshot: (snapshot) => openSnapshot(database, snapshot, clock.now()),
  accept: (arriving) => accept(database, clock, arriving),
  async held(numbers) {
    const { rows } = await database.query<{ number: string }>(
      `SELECT number FROM notice WHERE number = ANY ($1)
       UNION SELECT number FROM arrival WHERE number = ANY ($1)`,
      [numbers],
    )
    return new Set(rows.map(({ number }) => number))
  },
  async closeSnapshot(snapshot) {
    const [closed] = await closeSnapshots(database, [snapshot], clock.now())
    return closed!
  },
  snapshots: (limit) => snapshots(database, limit),
  async wanted(limit) {
    const { rows } = await database.query<Wanted>(
      `SELECT reference, by_number AS "byNumber", attempts, asked_at AS "askedAt" FROM wanted
       ORDER BY asked_at NULLS FIRST, reference LIMIT $1`,
      [limit],
    )
    return rows
  },
  async missed(reference) {
    await database.query(
      'UPDATE wanted SET asked_at = $2, attempts = attempts + 1 WHERE reference = $1',
      [reference, clock.now()],
    )
  },
})

async function accept(
  database: Database,
  clock: Clock,
  { xml, number, snapshot }: Arriving,
): Promise<Acceptance> {
  const sha256 = createHash('sha256').update(xml).digest()
  const read = readOrRefuse(xml, number)
  if (!('outcome' in read)) return keep(database, read, { sha256, snapshot })
  await noteRefusal(database, read, { sha256, source: snapshot.source, at: clock.now() })
  return read
}

/** Stores a notice, invisible until its snapshot is closed. */
export async function keep(
  database: Database,
  notice: Notice,
  { sha256, snapshot }: { readonly sha256: Buffer; readonly snapshot: Snapshot },
): Promise<Acceptance> {
  const { number } = notice
  const { rows } = await database.query<{ old: boolean; changed: boolean }>(
    `WITH held AS (
       SELECT sha256 FROM arrival WHERE number = $1
       UNION ALL SELECT sha256 FROM notice WHERE number = $1
     ), stored AS (
       INSERT INTO arrival AS a (number, snapshot, sha256, notice)
       SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT FROM held WHERE sha256 = $3)
       ON CONFLICT (number) DO UPDATE SET (snapshot, sha256, notice) =
         (excluded.snapshot, excluded.sha256, excluded.notice)
       RETURNING number)
     SELECT EXISTS (SELECT FROM held) AS old, EXISTS (SELECT FROM stored) AS changed`,
    [number, snapshot.id, sha256, JSON.stringify(notice)],
  )
  const { old = false, changed = false } = rows[0] ?? {}
  const outcome = changed ? (old ? 'replaced' : 'stored') : 'unchanged'
  return { outcome, number, refers: refersTo(notice) }
}

export type Refused = Extract<Acceptance, { outcome: 'refused' }>

export async function noteRefusal(
  database: Database,
  { number, reason, detail }: Refused,
  from: { readonly sha256: Buffer; readonly source: Source; readonly at: Date },
): Promise<void> {
  await database.query(
    `INSERT INTO refusal (sha256, number, reason, detail, source, refused_at)
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (sha256) DO NOTHING`,
    [from.sha256, number ?? null, reason, detail, from.source, from.at],
  )
}

/** @param expected the number that the document should have, where it is known */
export function readOrRefuse(
  xml: Uint8Array | string,
  expected: string | undefined,
): Notice | Refused {
  const refused = (reason: string, detail: string, number = expected) =>
    ({ outcome: 'refused', number, reason, detail }) as const
  try {
    const document = readNotice(xml)
    const { number, publishedOn } = document
    if (number === null) return refused('no_number', 'The notice has no publication number.')
    if (expected !== undefined && expected !== number) {
      return refused('number_differs', `The document says that it is ${number}.`)
    }
    if (publishedOn === null) {
      return refused('no_date', 'The notice has no date of publication.', number)
    }
    return { ...document, number, publishedOn }
  } catch (error) {
    if (error instanceof Unreadable) return refused(error.reason, error.message)
    throw error
  }
}
