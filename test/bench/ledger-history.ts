import { fork } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { elapsedMs } from '../../core/clock.ts'
import { signingKeyOf } from '../../core/crypto/signing-key.ts'
import { migrate } from '../../core/db/migrate.ts'
import { openDatabase } from '../../core/db/open.ts'
import { createPool } from '../../core/db/pool.ts'
import { balanceAt } from '../../core/ledger/history/balance.ts'
import { takeSnapshots } from '../../core/ledger/history/snapshot.ts'
import { statement } from '../../core/ledger/history/statement.ts'
import { verifySince } from '../../core/ledger/verify/incremental.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import { type BulkLedger, bulkLedger } from './bulk-ledger.ts'
import type { ExportResult } from './export-child.ts'
import { newFolder } from './folder.ts'
import { type LoadResult, load, median, rounded } from './load.ts'
import type { Report, Target } from './report.ts'

/** A year of calls on two shards: 200 entries, about 500 postings, per seal. */
const BATCH = 200
const OPTIONS = {
  shards: 2,
  agents: 10_000,
  providers: 100,
  batch: BATCH,
  start: new Date('2026-11-01T00:00:00Z'),
  stepMs: 3_100_000,
}
/** Batches per shard at 1 M and 10 M postings; each stage ends just before a chunk is complete. */
const STAGES = { '1m': 1_023, '10m': 10_014 } as const
const SYSTEM = ['liabilities:holds', 'income:commission', 'assets:usdc:base:in-transit']
const DENSE = 'liabilities:providers:bulk-0:x'
/** Concurrent readers: one per core. */
const CONCURRENCY = 2
const SECONDS = 3
const ROUNDS = 3
const P99_GOAL = 20
const FLAT_GOAL = 2
const RATE_GOAL = 200_000
const RSS_GOAL = 300
const EXPORTED_ENTRIES = 500_000n

/** Historical balances and statements at 1 M and 10 M postings; export and verification. */
export async function ledgerHistory(): Promise<Report> {
  const dataDir = newFolder()
  const database = await openDatabase({ dataDir })
  const owner = createPool(database.url, { max: 4, statementMs: 0, applicationName: 'bench' })
  const hub = createPool(database.url, { max: CONCURRENCY, role: 'hub_finance' })
  try {
    await migrate(database.url)
    await owner.query('SELECT ledger.ensure_partitions(12)')
    const books = await bulkLedger(owner, OPTIONS)
    const figures: Record<string, number> = {}
    let loaded = 0
    for (const [stage, batches] of Object.entries(STAGES)) {
      await grow({ owner, hub, books }, batches - loaded, stage, figures)
      loaded = batches
      if (stage === '1m') await measureVerify(hub, batches, figures)
      await measureReads(hub, books, batches, stage, figures)
    }
    await measureExport(database.url, figures)
    return report(figures)
  } finally {
    await Promise.all([owner.end(), hub.end()])
    await database.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const seconds = async (work: () => Promise<unknown>): Promise<number> => {
  const start = elapsedMs()
  await work()
  return (elapsedMs() - start) / 1_000
}

async function grow(
  { owner, hub, books }: { owner: Pool; hub: Pool; books: BulkLedger },
  batches: number,
  stage: string,
  figures: Record<string, number>,
): Promise<void> {
  const rows = batches * BATCH * OPTIONS.shards
  const loading = await seconds(() => books.load(batches))
  figures[`load_rows_per_s_${stage}`] = rounded(rows / loading, 0)
  await owner.query('VACUUM ANALYZE ledger.journal, ledger.seal, ledger.balance')
  const took = await seconds(() => takeSnapshots(hub))
  figures[`snapshot_rows_per_s_${stage}`] = rounded(rows / took, 0)
  await owner.query('VACUUM ANALYZE ledger.snapshot, ledger.chunk')
  await owner.query('CHECKPOINT')
  const { rows: sizes } = await owner.query<{ postings: bigint; journal: bigint; summed: bigint }>(
    `SELECT (SELECT sum(cardinality(entries))::bigint FROM ledger.snapshot) AS postings,
       (SELECT sum(pg_total_relation_size(inhrelid))::bigint FROM pg_inherits
        WHERE inhparent = 'ledger.journal'::regclass) AS journal,
       pg_total_relation_size('ledger.snapshot') AS summed`,
  )
  const { postings, journal, summed } = sizes[0]!
  figures[`postings_${stage}`] = Number(postings)
  figures[`snapshot_size_of_journal_${stage}`] = rounded(Number(summed) / Number(journal), 3)
}

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)]!

/**
 * Measures as-of balances and statements in turns, for keys, a provider with half of all calls, and
 * the platform.
 */
async function measureReads(
  pool: Pool,
  books: BulkLedger,
  batches: number,
  stage: string,
  figures: Record<string, number>,
): Promise<void> {
  const span = batches * OPTIONS.stepMs
  const at = (share: number) => new Date(OPTIONS.start.getTime() + share * span)
  const accountOf = () => pick([pick(books.agents), DENSE, pick(books.providers), pick(SYSTEM)])
  /** Random times; in the tail, times that no snapshot covers yet. */
  const balance = async () => void (await balanceAt(pool, accountOf(), at(Math.random())))
  const tail = 15 / batches
  const newest = async () => void (await balanceAt(pool, accountOf(), at(1 - Math.random() * tail)))
  const page = async () => {
    const [a, b] = [Math.random(), Math.random()].sort((x, y) => x - y)
    const found = await statement(pool, accountOf(), { from: at(a!), to: at(b!) })
    if (found === undefined) throw new Error('an account is gone')
  }
  const kinds = { as_of: balance, as_of_tail: newest, statement: page }
  const results = Object.keys(kinds).map(() => [] as LoadResult[])
  for (const once of Object.values(kinds)) await load(CONCURRENCY, 1, once)
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, once] of Object.values(kinds).entries()) {
      results[i]!.push(await load(CONCURRENCY, SECONDS, once))
    }
  }
  for (const [i, kind] of Object.keys(kinds).entries()) {
    const of = (value: (result: LoadResult) => number) => median(results[i]!.map(value))
    figures[`${kind}_p50_ms_${stage}`] = rounded(
      of((r) => r.p50Ms),
      2,
    )
    figures[`${kind}_p99_ms_${stage}`] = rounded(
      of((r) => r.p99Ms),
      2,
    )
    figures[`${kind}_per_s_${stage}`] = rounded(
      of((r) => r.perSecond),
      0,
    )
  }
}

async function measureVerify(
  pool: Pool,
  batches: number,
  figures: Record<string, number>,
): Promise<void> {
  const took = await seconds(async () => {
    const { ok, checks } = await verifyLedger(pool)
    if (!ok) throw new Error(`the books are broken: ${checks.find(({ bad }) => bad > 0n)?.name}`)
  })
  const rows = batches * BATCH * OPTIONS.shards
  figures['verify_rows_per_s'] = rounded(rows / took, 0)
  const key = signingKeyOf(generateKeyPairSync('ed25519').privateKey)
  const inSteps = await seconds(async () => {
    for (let behind = true; behind; ) {
      const { ok, shards } = await verifySince(pool, { key })
      if (!ok) throw new Error('the books are broken')
      behind = shards.some((shard) => shard.behind > 0n)
    }
  })
  figures['verify_since_rows_per_s'] = rounded(rows / inSteps, 0)
}

/** Exports in a child process, to measure the exporter's memory alone. */
async function measureExport(url: string, figures: Record<string, number>): Promise<void> {
  const child = fork(join(import.meta.dirname, 'export-child.ts'), [url, String(EXPORTED_ENTRIES)])
  const [result] = (await once(child, 'message')) as [ExportResult]
  figures['export_postings_per_s'] = rounded(result.postings / result.seconds, 0)
  figures['export_rss_mb'] = rounded(result.rssMb, 0)
}

function report(figures: Readonly<Record<string, number>>): Report {
  const at = (figure: string): number => figures[figure] ?? Number.NaN
  const atMost = (name: string, value: number, limit: number): Target => ({
    name,
    goal: `≤ ${limit}`,
    value,
    met: value <= limit,
  })
  const flat = (kind: string): number =>
    rounded(at(`${kind}_p99_ms_10m`) / at(`${kind}_p99_ms_1m`), 2)
  const rate = at('export_postings_per_s')
  const targets = [
    ...['as_of', 'as_of_tail', 'statement'].flatMap((kind) => [
      ...['1m', '10m'].map((stage) =>
        atMost(`${kind}, p99 in ms at ${stage}`, at(`${kind}_p99_ms_${stage}`), P99_GOAL),
      ),
      atMost(`${kind}, p99 at 10 M postings, times that at 1 M`, flat(kind), FLAT_GOAL),
    ]),
    {
      name: 'postings exported per second',
      goal: `≥ ${RATE_GOAL}`,
      value: rate,
      met: rate >= RATE_GOAL,
    },
    atMost('memory of an export, in MB', at('export_rss_mb'), RSS_GOAL),
  ]
  return { name: 'ledger-history', figures, targets }
}
