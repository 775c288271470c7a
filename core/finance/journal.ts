import type { ClientBase, Pool } from 'pg'
import type { Account, Asset, LedgerEvent } from '../ledger/events.ts'
import { ENTRY_COLUMNS } from '../ledger/history/lines.ts'

/** One side of an entry, in units of its asset, credit-positive. */
export interface EntryPosting {
  readonly account: Account
  readonly asset: Asset
  readonly amount: string
}

/** An entry of the journal, with all that it did. */
export interface SeenEntry {
  readonly shard: number
  readonly seq: bigint
  /** Of the call, purchase, payment or correction; its other entries have it too. */
  readonly id: string
  readonly event: LedgerEvent['type']
  /** ISO 8601 in UTC, to the microsecond. */
  readonly bookedAt: string
  readonly valueAt: string
  readonly postings: readonly EntryPosting[]
  readonly meta: Readonly<Record<string, unknown>> | null
  /** The call that it belongs to, if it does to one. */
  readonly call: string | null
}

/**
 * Of `ledger.journal j`. An entry has few legs, which no planner knows: each account is looked up
 * by itself, so that none reads all accounts for every entry.
 */
const ENTRY = `j.shard, j.seq, ${ENTRY_COLUMNS},
  (SELECT json_agg(json_build_object('account', a.code, 'asset', a.asset,
      'amount', l.amount::text) ORDER BY l.n)
    FROM ledger.legs(j) l CROSS JOIN LATERAL (SELECT c.code, s.code AS asset
      FROM ledger.account c JOIN ledger.asset s ON s.id = c.asset
      WHERE c.id = l.account LIMIT 1) a) AS postings,
  coalesce((SELECT c.id FROM hub.call c WHERE c.id = j.id),
    (SELECT c.id FROM hub.call c WHERE c.entry = j.id AND c.entry <> c.id LIMIT 1)) AS call`

/** Before which entry of each shard to go on: the number of the last one that was looked at. */
export type JournalPlace = readonly bigint[]

export interface JournalFilter {
  readonly event?: string | undefined
  /** By the time of booking, from the first instant up to the second, which is not in it. */
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  readonly limit: number
  readonly before?: JournalPlace | undefined
}

/** A page of the journal, the newest entry first. */
export interface JournalPage {
  readonly entries: readonly SeenEntry[]
  /** Where the next page begins; undefined: there is nothing more. */
  readonly next: JournalPlace | undefined
}

/**
 * So many entries of a shard are looked at for one page, where an event has no index: those of the
 * steps of calls, of which there are many.
 */
const LOOK_MAX = 10_000n
/** Kinds above it have one: `journal_rare`. */
const KIND_COMMON_MAX = 3

const BOUNDS = `
  SELECT h.shard,
    least(h.seq, CASE WHEN $2::timestamptz IS NULL THEN h.seq ELSE coalesce((SELECT s.seq_to
      FROM ledger.seal s WHERE s.shard = h.shard AND s.at < $2
      ORDER BY s.at DESC, s.seq_to DESC LIMIT 1), 0) END) AS last,
    CASE WHEN $1::timestamptz IS NULL THEN 0::bigint ELSE coalesce((SELECT s.seq_to
      FROM ledger.seal s WHERE s.shard = h.shard AND s.at < $1
      ORDER BY s.at DESC, s.seq_to DESC LIMIT 1), 0) END AS first
  FROM ledger.head h ORDER BY h.shard`

const pageOf = (condition: string): string => `
  SELECT ${ENTRY} FROM ledger.journal j JOIN ledger.kind k ON k.id = j.kind
  WHERE j.shard = $1 AND j.seq > $2 AND j.seq <= $3 AND ${condition}
  ORDER BY j.seq DESC LIMIT $5`
const PAGE = pageOf('($4::smallint IS NULL OR j.kind = $4)')
const RARE = pageOf(`j.kind = $4 AND j.kind > ${KIND_COMMON_MAX}`)

/**
 * Entries by the time of booking. Where few calls went as the event that is asked for, a page may
 * be short, or empty, and say where to go on.
 */
export async function listEntries(pool: Pool, filter: JournalFilter): Promise<JournalPage> {
  const { event, from, to, limit, before } = filter
  const values = [from ?? null, to ?? null]
  const [{ rows: bounds }, kind] = await Promise.all([
    pool.query<{ shard: number; first: bigint; last: bigint }>(BOUNDS, values),
    event === undefined ? null : kindOf(pool, event),
  ])
  if (kind === undefined) return { entries: [], next: undefined }
  const isRare = kind !== null && kind > KIND_COMMON_MAX
  const looks = await Promise.all(
    bounds.map(async ({ shard, first, last }) => {
      const top = before?.[shard] === undefined ? last : lower(last, before[shard])
      const bottom = !isRare && top - LOOK_MAX > first ? top - LOOK_MAX : first
      if (top <= bottom) return { first, reached: bottom, rows: [] as SeenEntry[] }
      const asked = [shard, bottom, top, kind, limit]
      const { rows } = await pool.query<SeenEntry>(isRare ? RARE : PAGE, asked)
      const reached = rows.length === limit ? rows.at(-1)!.seq - 1n : bottom
      return { first, reached, rows }
    }),
  )
  const entries = looks
    .flatMap(({ rows }) => rows)
    .toSorted(newestFirst)
    .slice(0, limit)
  const next = looks.map(({ rows, reached }) => {
    const left = rows.find((row) => !entries.includes(row))
    return left ? left.seq : reached
  })
  const more = looks.some(({ first }, shard) => next[shard]! > first)
  return { entries, next: more ? next : undefined }
}

/** Undefined: there is no such event. */
async function kindOf(pool: Pool, event: string): Promise<number | undefined> {
  const { rows } = await pool.query<{ id: number }>('SELECT id FROM ledger.kind WHERE event = $1', [
    event,
  ])
  return rows[0]?.id
}

const lower = (a: bigint, b: bigint): bigint => (a < b ? a : b)

function newestFirst(a: SeenEntry, b: SeenEntry): number {
  if (a.bookedAt !== b.bookedAt) return a.bookedAt < b.bookedAt ? 1 : -1
  return a.shard === b.shard ? Number(b.seq - a.seq) : b.shard - a.shard
}

/** The accounts whose history the entries with this id are in. */
export async function ownersOf(
  database: Pool | ClientBase,
  id: string,
): Promise<readonly bigint[]> {
  const { rows } = await database.query<{ owner: bigint }>(
    'SELECT DISTINCT owner FROM ledger.owners_of($1)',
    [id],
  )
  return rows.map(({ owner }) => owner)
}

/** What the record says of a call. */
export interface SeenCall {
  readonly id: string
  readonly at: Date
  readonly requestId: string
  readonly keyId: string | null
  readonly principal: string
  readonly endpoint: string
  readonly priceVersion: number
  readonly source: string
  /** Microdollars. */
  readonly charged: bigint
  readonly outcome: string
  readonly status: number
  readonly latencyMs: number
  readonly reason: string | null
  /** Of its rows in the journal. */
  readonly entry: string | null
}

/** All that is known under one id: entries of the journal, and the call that they were made for. */
export interface Trail {
  readonly entries: readonly SeenEntry[]
  readonly call: SeenCall | null
}

/** From a posting to its call, and from a call to its postings: `id` may be of either. */
export async function trailOf(pool: Pool, id: string): Promise<Trail> {
  const { rows: calls } = await pool.query<SeenCall>(
    `SELECT c.id, c.at, c.request_id AS "requestId", c.key_id AS "keyId", c.principal,
       e.method || ' /' || e.service || e.path AS endpoint, c.price_version AS "priceVersion",
       c.source, c.charged, c.outcome, c.status, c.latency_ms AS "latencyMs", c.reason, c.entry
     FROM hub.call c JOIN hub.endpoint e ON e.id = c.endpoint
     WHERE c.id = $1 OR (c.entry = $1 AND c.entry <> c.id) LIMIT 1`,
    [id],
  )
  const [call = null] = calls
  const ids = [...new Set([id, call?.id, call?.entry].filter((each) => typeof each === 'string'))]
  const { rows: entries } = await pool.query<SeenEntry>(
    `SELECT ${ENTRY} FROM unnest($1::uuid[]) w(id) CROSS JOIN LATERAL ledger.owners_of(w.id) o
     JOIN ledger.journal j ON j.shard = o.shard AND j.seq = o.seq
     JOIN ledger.kind k ON k.id = j.kind ORDER BY j.at, j.shard, j.seq`,
    [ids],
  )
  return { entries, call }
}
