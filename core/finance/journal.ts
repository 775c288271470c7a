import type { ClientBase, Pool } from 'pg'
import type { Account, Asset } from '../ledger/events.ts'
import type { StatementLine } from '../ledger/history/statement.ts'
import { readCut, readHeads } from '../ledger/shards.ts'
import type { CallRecord } from '../usage/call-records.ts'
import { type CallState, callState } from '../usage/call-state.ts'

/** A posting of an entry, in units of its asset, credit-positive. */
export interface EntryPosting {
  readonly account: Account
  readonly asset: Asset
  readonly amount: string
}

export interface JournalEntryView extends Omit<StatementLine, 'amount' | 'contra'> {
  readonly postings: readonly EntryPosting[]
  /** Id of the call that the entry belongs to, if any. */
  readonly call: string | null
}

const ISO_FORMAT = `'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'`

/**
 * SQL that reads entries as `JournalEntryView`. Looks up each account separately: the planner does
 * not know that an entry has few legs and would scan all. Reads the entries first, because Citus
 * cannot join them with calls.
 * @param entries query of rows of `ledger.journal`
 */
const viewSql = (entries: string, order: string): string => `
  WITH j AS MATERIALIZED (${entries})
  SELECT j.shard, j.seq, j.id, k.event, j.meta,
    to_char(j.at AT TIME ZONE 'UTC', ${ISO_FORMAT}) AS "bookedAt",
    to_char(coalesce(j.effective_at, j.at) AT TIME ZONE 'UTC', ${ISO_FORMAT}) AS "valueAt",
    (SELECT coalesce(json_agg(json_build_object(
        'account', (SELECT a.code FROM ledger.account a WHERE a.id = l.account),
        'asset', (SELECT s.code FROM ledger.account a JOIN ledger.asset s ON s.id = a.asset
          WHERE a.id = l.account),
        'amount', l.amount::text) ORDER BY l.n), '[]')
      FROM ledger.legs(ROW(j.*)::ledger.journal) l) AS postings,
    coalesce((SELECT c.id FROM hub.call c WHERE c.id = j.id),
      (SELECT c.id FROM hub.call c WHERE c.entry = j.id AND c.entry <> c.id LIMIT 1)) AS call
  FROM j JOIN ledger.kind k ON k.id = j.kind ORDER BY ${order}`

/** Sequence number, by shard, before which the next page starts. */
export type JournalCursor = readonly bigint[]

export interface JournalFilter {
  readonly event?: string | undefined
  /** Part of the author's name, regardless of case. */
  readonly author?: string | undefined
  /** Time of posting: `from` inclusive, `to` exclusive. */
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  readonly limit: number
  readonly before?: JournalCursor | undefined
}

export interface JournalPage {
  readonly entries: readonly JournalEntryView[]
  /** Cursor of the next page; undefined on the last page. */
  readonly next: JournalCursor | undefined
}

/** Entries of a shard scanned for one page, at most, of an event that has no index. */
const SCANNED_ENTRIES_MAX = 10_000n
/** Higher kinds are indexed by `journal_rare`. */
const COMMON_KIND_MAX = 3

const pageQuery = (condition: string): string =>
  viewSql(
    `SELECT j.* FROM ledger.journal j
     WHERE j.shard = $1 AND j.seq > $2 AND j.seq <= $3 AND ${condition}
     ORDER BY j.seq DESC LIMIT $5`,
    'j.seq DESC',
  )
// Named, because planning takes longer than reading a page. Authors need a plan for their event.
const SCAN_PAGE = {
  name: 'journal.scan',
  text: pageQuery('($4::smallint IS NULL OR j.kind = $4)'),
}
const RARE_PAGE = {
  name: 'journal.rare',
  text: pageQuery(`j.kind = $4 AND j.kind > ${COMMON_KIND_MAX}`),
}
const AUTHOR_PAGE = {
  text: pageQuery(
    `j.kind > 4 AND j.meta ? 'author' AND ($4::smallint IS NULL OR j.kind = $4)
     AND position(lower($6) IN lower(j.meta ->> 'author')) > 0`,
  ),
}

/**
 * Reads entries by time of posting, the newest first. If an unindexed event is rare, a page may be
 * short or empty and still have a `next` cursor.
 */
export async function listEntries(pool: Pool, filter: JournalFilter): Promise<JournalPage> {
  const { event, author, from, to, limit, before } = filter
  const [heads, firsts, lasts, kind] = await Promise.all([
    readHeads(pool),
    from && readCut(pool, from),
    to && readCut(pool, to),
    event === undefined ? null : findKind(pool, event),
  ])
  if (kind === undefined) return { entries: [], next: undefined }
  const isRare = author !== undefined || (kind !== null && kind > COMMON_KIND_MAX)
  const scans = await Promise.all(
    [...heads].map(async ([shard, head]) => {
      const first = firsts?.get(shard) ?? 0n
      const last = lesser(head, lasts?.get(shard) ?? head)
      const top = before?.[shard] === undefined ? last : lesser(last, before[shard])
      const bottom =
        !isRare && top - SCANNED_ENTRIES_MAX > first ? top - SCANNED_ENTRIES_MAX : first
      if (top <= bottom) return { first, reached: bottom, rows: [] as JournalEntryView[] }
      const query = author !== undefined ? AUTHOR_PAGE : isRare ? RARE_PAGE : SCAN_PAGE
      const bounds = [shard, bottom, top, kind, limit]
      const values = author === undefined ? bounds : [...bounds, author]
      const { rows } = await pool.query<JournalEntryView>({ ...query, values })
      const reached = rows.length === limit ? rows.at(-1)!.seq - 1n : bottom
      return { first, reached, rows }
    }),
  )
  const entries = scans
    .flatMap(({ rows }) => rows)
    .toSorted(newestFirst)
    .slice(0, limit)
  const next = scans.map(({ rows, reached }) => {
    const remaining = rows.find((row) => !entries.includes(row))
    return remaining ? remaining.seq : reached
  })
  const more = scans.some(({ first }, shard) => next[shard]! > first)
  return { entries, next: more ? next : undefined }
}

/** Returns the kind of an event; undefined if there is no such event. */
async function findKind(pool: Pool, event: string): Promise<number | undefined> {
  const { rows } = await pool.query<{ id: number }>('SELECT id FROM ledger.kind WHERE event = $1', [
    event,
  ])
  return rows[0]?.id
}

const lesser = (a: bigint, b: bigint): bigint => (a < b ? a : b)

function newestFirst(a: JournalEntryView, b: JournalEntryView): number {
  if (a.bookedAt !== b.bookedAt) return a.bookedAt < b.bookedAt ? 1 : -1
  return a.shard === b.shard ? Number(b.seq - a.seq) : b.shard - a.shard
}

/** Finds the accounts that own entries with this id. */
export async function findOwners(
  database: Pool | ClientBase,
  id: string,
): Promise<readonly bigint[]> {
  const { rows } = await database.query<{ owner: bigint }>(
    'SELECT DISTINCT owner FROM ledger.owners_of($1)',
    [id],
  )
  return rows.map(({ owner }) => owner)
}

export interface CallView {
  readonly id: string
  readonly at: Date
  readonly requestId: string
  readonly keyId: string | null
  readonly principal: string
  readonly endpoint: string
  readonly priceVersion: number
  readonly source: string
  /** Charged, less what was refunded. */
  readonly charged: bigint
  readonly refunded: bigint
  readonly state: CallState
  readonly outcome: CallRecord['outcome']
  readonly status: number
  readonly latencyMs: number
  readonly reason: string | null
  /** Id of its journal entries. */
  readonly entry: string | null
}

/** Call as recorded, before its journal entries are known. */
type RecordedCall = Omit<CallView, 'refunded' | 'state'>

const RESOLUTION_KINDS: Readonly<Record<string, number>> = {
  'call.settled': 2,
  'call.released': 3,
  'call.expired': 4,
}
const REFUNDS: readonly string[] = ['external.refunded', 'call.reversed', 'sale.reversed']

/** Completes a call by its entries, as its caller sees it. */
function withState(call: RecordedCall, entries: readonly JournalEntryView[]): CallView {
  const resolved = entries.find(({ event }) => event in RESOLUTION_KINDS)
  const hasHold = entries.some(({ event }) => event === 'call.reserved')
  const resolution = resolved ? RESOLUTION_KINDS[resolved.event] : hasHold ? null : undefined
  const credited = entries
    .filter(({ event }) => REFUNDS.includes(event))
    .flatMap(({ postings }) => postings.map(({ amount }) => BigInt(amount)))
  const refunded = credited.reduce((sum, each) => (each > 0n ? sum + each : sum), 0n)
  const state = callState({ resolution, outcome: call.outcome, refunded })
  // The record of a call whose seller never took the money has no charge any more.
  const charged = call.charged > refunded ? call.charged - refunded : 0n
  return { ...call, charged, refunded, state }
}

/** Finds the call and all journal entries for an id, which may be that of either. */
export async function findTrail(
  pool: Pool,
  id: string,
): Promise<{ readonly entries: readonly JournalEntryView[]; readonly call: CallView | null }> {
  const { rows: calls } = await pool.query<RecordedCall>(
    `SELECT c.id, c.at, c.request_id AS "requestId", c.key_id AS "keyId", c.principal,
       e.method || ' /' || e.service || e.path AS endpoint, c.price_version AS "priceVersion",
       c.source, c.charged, c.outcome, c.status, c.latency_ms AS "latencyMs", c.reason, c.entry
     FROM hub.call c JOIN hub.endpoint e ON e.id = c.endpoint
     WHERE c.id = $1 OR (c.entry = $1 AND c.entry <> c.id) LIMIT 1`,
    [id],
  )
  const [call = null] = calls
  const ids = [...new Set([id, call?.id, call?.entry].filter((each) => typeof each === 'string'))]
  const entries = await readEntriesOf(pool, ids)
  return { entries, call: call && withState(call, entries) }
}

/** Reads all entries with these ids, in the order of posting. */
async function readEntriesOf(pool: Pool, ids: readonly string[]): Promise<JournalEntryView[]> {
  const { rows } = await pool.query<JournalEntryView>(
    viewSql(
      `SELECT j.* FROM unnest($1::uuid[]) w(id) CROSS JOIN LATERAL ledger.owners_of(w.id) o
       CROSS JOIN LATERAL ledger.entry_at(o.shard, o.seq) j`,
      'j.at, j.shard, j.seq',
    ),
    [ids],
  )
  return rows
}

/** More ids than one transaction settles. */
const TRANSACTION_IDS_MAX = 500

/** Finds all entries of the calls, purchases and payments of a transaction, the newest first. */
export async function findByTransaction(pool: Pool, hash: string): Promise<JournalEntryView[]> {
  const { rows } = await pool.query<{ id: string }>(
    `SELECT DISTINCT j.id FROM ledger.journal j
     WHERE lower(coalesce(j.meta ->> 'transaction', j.meta ->> 'tx')) = lower($1)
       AND j.kind > 4 AND j.meta ?| '{tx,transaction}' LIMIT ${TRANSACTION_IDS_MAX}`,
    [hash],
  )
  const entries = await readEntriesOf(
    pool,
    rows.map(({ id }) => id),
  )
  return entries.toSorted(newestFirst)
}
