import { hash } from 'node:crypto'
import type { Clock, Database } from 'agenthub/plugin'
import type { Notice } from '../model.ts'
import { readNotice } from '../parse/notice.ts'
import { Unreadable } from '../parse/xml.ts'
import { causeOf, isNoticeError, recordSetAside } from './set-aside.ts'
import { closeSnapshots, openSnapshot, snapshots } from './snapshots.ts'
import type {
  MissingReference,
  ReceivedDocument,
  Snapshot,
  Source,
  Store,
  StoreOutcome,
} from './types.ts'

/** The tenders' part of the database. */
export const openStore = (database: Database, clock: Clock): Store => ({
  openSnapshot: (snapshot) => openSnapshot(database, snapshot, clock.now()),
  accept: (document) => accept(database, clock, document),
  async storedNumbers(numbers) {
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
  async missingReferences(limit) {
    const { rows } = await database.query<MissingReference>(
      `SELECT reference, attempts, asked_at AS "askedAt" FROM wanted
       ORDER BY asked_at NULLS FIRST, reference LIMIT $1`,
      [limit],
    )
    return rows
  },
  async recordAttempt(reference) {
    await database.query(
      'UPDATE wanted SET asked_at = $2, attempts = attempts + 1 WHERE reference = $1',
      [reference, clock.now()],
    )
  },
})

/** Stores a document; whatever fails because of it becomes a refusal. */
async function accept(
  database: Database,
  clock: Clock,
  { xml, number, file, snapshot }: ReceivedDocument,
): Promise<StoreOutcome> {
  const sha256 = hash('sha256', xml, 'buffer')
  const from = { sha256, snapshot, file, at: clock.now() }
  try {
    const read = readOrRefuse(xml, number, clock.now())
    if (!('outcome' in read)) return await storeOrRefuse(database, read, from)
    await recordRefusal(database, read, from)
    return read
  } catch (error) {
    if (!isNoticeError(error)) throw error
    const refused = { outcome: 'refused', number, stage: 'store', ...causeOf(error) } as const
    await recordSetAside(database, { ...refused, ...snapshot, sha256, file, at: from.at })
    return refused
  }
}

/** Origin of a document. */
export interface Origin {
  readonly sha256: Buffer
  readonly snapshot: { readonly day: string | undefined; readonly source: Source }
  readonly file?: string | undefined
  readonly at: Date
}

/** Stores a notice; one that the database refuses is set aside. */
export async function storeOrRefuse(
  database: Database,
  notice: Notice,
  from: Origin & { readonly snapshot: Snapshot },
): Promise<StoreOutcome> {
  try {
    return await storeArrival(database, notice, from)
  } catch (error) {
    if (!isNoticeError(error)) throw error
    const refused = {
      outcome: 'refused',
      number: notice.number,
      stage: 'store',
      ...causeOf(error),
    } as const
    await recordRefusal(database, refused, from)
    return refused
  }
}

/**
 * Stores a notice, invisible until its snapshot is closed. Of two documents with one number the
 * later one counts, with a flag; a search hit never replaces a document.
 */
async function storeArrival(
  database: Database,
  notice: Notice,
  { sha256, snapshot }: { readonly sha256: Buffer; readonly snapshot: Snapshot },
): Promise<StoreOutcome> {
  const { number } = notice
  const flagged = { ...notice, flags: [...(notice.flags ?? []), 'content_replaced'] }
  const { rows } = await database.query<{ old: boolean; changed: boolean }>(
    `WITH held AS (
       SELECT sha256, notice->'partial' IS NULL AS whole FROM arrival WHERE number = $1
       UNION ALL SELECT sha256, notice->'partial' IS NULL FROM notice WHERE number = $1
     ), stored AS (
       INSERT INTO arrival AS a (number, snapshot, sha256, notice)
       SELECT $1, $2, $3, CASE WHEN EXISTS (SELECT FROM held WHERE whole) THEN $5 ELSE $4 END::jsonb
       WHERE NOT EXISTS (SELECT FROM held WHERE sha256 = $3 OR whole AND $6)
       ON CONFLICT (number) DO UPDATE SET (snapshot, sha256, notice, failed_version) =
         (excluded.snapshot, excluded.sha256, excluded.notice, NULL)
       RETURNING number)
     SELECT EXISTS (SELECT FROM held) AS old, EXISTS (SELECT FROM stored) AS changed`,
    [
      number,
      snapshot.id,
      sha256,
      JSON.stringify(notice),
      JSON.stringify(flagged),
      notice.partial === true,
    ],
  )
  const { old = false, changed = false } = rows[0] ?? {}
  const outcome = changed ? (old ? 'replaced' : 'stored') : 'unchanged'
  return { outcome, number }
}

export type Refused = Extract<StoreOutcome, { outcome: 'refused' }>

/** Sets a document aside. */
export const recordRefusal = (
  database: Database,
  { number, stage, reason, detail, stack }: Refused,
  { sha256, snapshot: { day, source }, file, at }: Origin,
): Promise<void> =>
  recordSetAside(database, { sha256, number, stage, reason, detail, stack, source, day, file, at })

/** Time zones and early publication: a notice of tomorrow may already be readable. */
const AHEAD_MS = 2 * 86_400_000

/**
 * Reads a document; whatever fails becomes a refusal.
 * @param expected the number that the document should have, where it is known
 */
export function readOrRefuse(
  xml: Uint8Array | string,
  expected: string | undefined,
  now: Date,
): Notice | Refused {
  const refused = (reason: string, detail: string, number = expected): Refused => ({
    outcome: 'refused',
    stage: 'read',
    number,
    reason,
    detail,
  })
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
    return checkDate({ ...document, number, publishedOn }, now)
  } catch (error) {
    if (error instanceof Unreadable) return refused(error.reason, error.message)
    return { ...refused('unexpected_error', ''), ...causeOf(error) }
  }
}

/** Refuses a notice dated in the future: it would hide the newest complete day. */
export function checkDate(notice: Notice, now: Date): Notice | Refused {
  const { number, publishedOn } = notice
  if (Date.parse(publishedOn) <= now.getTime() + AHEAD_MS) return notice
  const detail = `The notice claims to be published on ${publishedOn}.`
  return { outcome: 'refused', stage: 'read', number, reason: 'future_date', detail }
}
