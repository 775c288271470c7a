import type { Pool } from 'pg'
import { systemClock } from '../../../core/clock.ts'
import { inTransaction } from '../../../core/db/transaction.ts'
import { makePerson } from '../../../core/identity/people.ts'
import { openSession } from '../../../core/identity/sessions.ts'
import { bulkBooks } from '../bulk-books.ts'
import { readRelevance } from '../search/relevance.ts'
import { plantListings } from '../search/synthetic.ts'

const LISTINGS = 100_000
const SHARDS = 2
const BATCH = 200
const AGENTS = 100
const KEY = 'key_bench00000000000'
/** A third of a year of calls. */
const DAYS = 120
const STEP_MS = 3_800_000

/** Somebody with much on every page. */
export interface Planted {
  readonly token: string
  readonly keyId: string
  readonly queries: readonly string[]
  /** Entries of the journal. */
  readonly rows: number
}

/** 100,000 listings, a million entries of the journal, and somebody who made many of them. */
export async function plant(admin: Pool): Promise<Planted> {
  const relevance = readRelevance()
  await plantListings(admin, relevance.catalogue, LISTINGS)
  const start = new Date(systemClock.now().getTime() - DAYS * 86_400_000)
  await admin.query(`SELECT ledger.ensure_partitions()`)
  const books = await bulkBooks(admin, {
    shards: SHARDS,
    agents: AGENTS,
    providers: 100,
    batch: BATCH,
    start,
    stepMs: STEP_MS,
  })
  const rows = 1_000_000
  await books.load(rows / SHARDS / BATCH)
  const opened = await inTransaction(admin, async (client) => {
    const person = await makePerson(client, 'bench@example.test')
    await client.query(PERSON, [person, KEY])
    return openSession(client, person, { agent: 'bench', network: '127.0.0' })
  })
  await admin.query(CALLS, [KEY])
  await admin.query('VACUUM ANALYZE')
  return {
    token: opened.token,
    keyId: KEY,
    queries: [...relevance.development, ...relevance.heldOut].map(({ query }) => query),
    rows,
  }
}

/** The keys of the person: one that holds the credits of the first agent, and many below it. */
const PERSON = `
  WITH root AS (
    INSERT INTO hub.api_key (id, principal, credits, name) VALUES ($2, $1, 1000000, 'Bench')
    RETURNING id, principal, credits)
  INSERT INTO hub.api_key (id, principal, parent, depth, credits, name)
  SELECT 'key_' || lpad(n::text, 16, '0'), r.principal, r.id, 1, r.credits, 'Agent ' || n
  FROM root r, generate_series(1, 200) n`

/** What the key spent, each day at each endpoint. */
const CALLS = `
  INSERT INTO hub.spending (payer, day, endpoint, calls, charged, free_calls, failed, released,
    refunded)
  SELECT $1, current_date - d, e, 100 + d, 300000 + 1000 * e, 0, 2, 6000, 0
  FROM generate_series(0, 365) d, generate_series(1, 10) e`
