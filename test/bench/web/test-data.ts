import type { Pool } from 'pg'
import { systemClock } from '../../../core/clock.ts'
import { inTransaction } from '../../../core/db/transaction.ts'
import { findOrCreatePerson } from '../../../core/identity/people.ts'
import { openSession } from '../../../core/identity/sessions.ts'
import { summarizeDays, takeSnapshots } from '../../../core/ledger/history/snapshot.ts'
import { bulkLedger } from '../bulk-ledger.ts'
import { readRelevance } from '../search/relevance.ts'
import { insertListings } from '../search/synthetic.ts'

const LISTINGS = 100_000
const ENTRIES = 1_000_000
const SHARDS = 2
const BATCH = 200
const AGENTS = 500
/** Call records, inserted day by day. */
const CALLS = 10_000_000
const SUB_KEYS = 200
export const KEY = 'key_bench00000000000'
export const SUB_KEY_IDS = Array.from(
  { length: SUB_KEYS },
  (_, i) => `key_${String(i + 1).padStart(16, '0')}`,
)
/** Slug of the account's service. */
export const API = 'bench-tides'
/** Days of calls: a third of a year. */
const DAYS = 120
const STEP_MS = 3_800_000

/** Account with much data on every page and access to all other pages. */
export interface Person {
  readonly token: string
  readonly queries: readonly string[]
}

/**
 * Inserts 100,000 listings, a million journal entries, ten million calls, and an account that owns
 * many of them.
 */
export async function insertTestData(admin: Pool): Promise<Person> {
  const relevance = readRelevance()
  const start = new Date(systemClock.now().getTime() - DAYS * 86_400_000)
  await Promise.all([
    insertListings(admin, relevance.catalog, LISTINGS),
    insertEntries(admin, start),
    insertCalls(admin, start, 0, DAYS / 2),
    insertCalls(admin, start, DAYS / 2, DAYS),
  ])
  const opened = await inTransaction(admin, async (client) => {
    const person = await findOrCreatePerson(client, 'bench@example.test')
    await client.query(PERSON, [person, KEY])
    await client.query(PROVIDER, [person])
    await client.query(ROLE, [person])
    return openSession(client, person, { agent: 'bench', network: '127.0.0' })
  })
  await admin.query(SPENDING, [KEY])
  await admin.query('VACUUM ANALYZE')
  return {
    token: opened.token,
    queries: [...relevance.development, ...relevance.heldOut].map(({ query }) => query),
  }
}

async function insertEntries(admin: Pool, start: Date): Promise<void> {
  await admin.query(`SELECT ledger.ensure_partitions()`)
  const books = await bulkLedger(admin, {
    shards: SHARDS,
    agents: AGENTS,
    providers: 100,
    batch: BATCH,
    start,
    stepMs: STEP_MS,
  })
  await books.load(ENTRIES / SHARDS / BATCH)
  await takeSnapshots(admin)
  await summarizeDays(admin)
}

/** Inserts the calls of a range of days. */
async function insertCalls(admin: Pool, start: Date, from: number, to: number): Promise<void> {
  const perDay = Math.ceil(CALLS / DAYS)
  for (let day = from; day < to; day++) {
    await admin.query(DAY_OF_CALLS, [perDay, day, start, KEY, API])
  }
}

/** Keys of the account: a main key with the credits of an agent of its shard, and many sub-keys. */
const PERSON = `
  WITH root AS (
    INSERT INTO hub.api_key (id, principal, credits, name)
    SELECT $2, id, 1000000 + shard, 'Bench' FROM hub.principal WHERE id = $1
    RETURNING id, principal, credits)
  INSERT INTO hub.api_key (id, principal, parent, depth, credits, name)
  SELECT 'key_' || lpad(n::text, 16, '0'), r.principal, r.id, 1, r.credits, 'Agent ' || n
  FROM root r, generate_series(1, ${SUB_KEYS}) n`

const ROLE = `INSERT INTO hub.role (principal, role, granted_by) VALUES ($1, 'admin', 'bench')`

/** Assigns the provider of half of all calls to the account. */
const PROVIDER = `
  WITH mine AS (INSERT INTO hub.provider (id, owner) VALUES ('bulk-0', $1))
  INSERT INTO hub.payout_address (provider, address, set_by, nonce, effective_at)
  VALUES ('bulk-0', '0x' || repeat('ab', 20), $1, 'bench', now())`

/** Daily spending of the key by endpoint. */
const SPENDING = `
  INSERT INTO hub.spending (payer, day, endpoint, calls, charged, free_calls, failed, released,
    refunded)
  SELECT $1, current_date - d, e, 100 + d, 300000 + 1000 * e, 0, 2, 6000, 0
  FROM generate_series(0, 365) d, generate_series(1, 10) e`

/**
 * Calls of one day in the order of their time: half of them of the account's service, a tenth
 * first-party; a third by the main key, the others by its sub-keys. One in 25 failed.
 */
const DAY_OF_CALLS = `
  INSERT INTO hub.call (id, at, request_id, principal, key_id, service, endpoint, price_version,
    source, charged, outcome, status, latency_ms, reason)
  SELECT (lpad(to_hex((extract(epoch FROM c.at) * 1000)::bigint), 12, '0') || '7'
      || lpad(to_hex(n & 4095), 3, '0') || '8' || left(md5(n::text), 15))::uuid,
    c.at, 'req_bench', 'prn_' || n % 1000,
    CASE WHEN n % 3 = 0 THEN $4 ELSE 'key_' || lpad((1 + n % ${SUB_KEYS})::text, 16, '0') END,
    CASE WHEN n % 2 = 0 THEN $5 WHEN n % 5 = 0 THEN 'analysis' ELSE 'other-' || n % 50 END,
    1 + n % 4, 1, 'credits', CASE WHEN failed THEN 0 ELSE 3000 END,
    CASE WHEN failed THEN 'failed' ELSE 'delivered' END, CASE WHEN failed THEN 502 ELSE 200 END,
    (20 + 900 * random() * random())::integer, CASE WHEN failed THEN 'plugin_failed' END
  FROM (SELECT $2::integer * $1::integer + i AS n, i % 50 < 2 AS failed,
      $3::timestamptz + ($2::integer + i::float8 / $1::integer) * interval '1 day' AS at
    FROM generate_series(0, $1::integer - 1) i) c`
