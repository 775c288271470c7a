import { fork } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { elapsedMs } from '../../core/clock.ts'
import { signingKeyOf } from '../../core/crypto/signing-key.ts'
import { financialStatement, STATEMENTS } from '../../core/finance/financial-statements.ts'
import { parseReportPeriod, previousPeriod } from '../../core/finance/report-period.ts'
import { balanceAt } from '../../core/ledger/history/balance.ts'
import { summarizeDays, takeSnapshots } from '../../core/ledger/history/snapshot.ts'
import { statement } from '../../core/ledger/history/statement.ts'
import { extendTrees } from '../../core/ledger/transparency/extend-trees.ts'
import { verifySince } from '../../core/ledger/verify/incremental.ts'
import { verifyLedger } from '../../core/ledger/verify.ts'
import type { BulkLedger } from './bulk-ledger.ts'
import type { ExportResult } from './export-child.ts'
import { type LoadResult, load, median, rounded } from './load.ts'
import { atLeast, atMost, type Report } from './report.ts'
import { withBulkLedger } from './with-bulk-ledger.ts'

/** Years of calls on two shards: 200 entries, about 500 postings, per seal. */
const BATCH = 200
const OPTIONS = {
  shards: 2,
  agents: 10_000,
  providers: 100,
  batch: BATCH,
  start: new Date('2026-11-01T00:00:00Z'),
  stepMs: 3_100_000,
}
/** Entries after each stage, just before a chunk is complete; each has about 2.5 postings. */
const STAGES = [1_001_200, 10_000_000]
/** Years of the generated entries, two and a half. */
const YEARS = ['2026', '2027', '2028'] as const
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
const VERIFY_GOAL = 20_000

/**
 * Verification, exports, statements and historical balances after each stage.
 * @param entries of each stage, such as `200000,1000000`
 */
export async function ledgerHistory(entries?: string): Promise<Report> {
  const stages = entries === undefined ? STAGES : entries.split(',').map(Number)
  const batches = Math.ceil(Math.max(...stages) / BATCH / OPTIONS.shards)
  const options = { ...OPTIONS, batches, connections: CONCURRENCY }
  return withBulkLedger(options, async ({ url, owner, hub, books }) => {
    await owner.query(CLOCK)
    const figures: Record<string, number> = {}
    let loaded = 0
    for (const [i, size] of stages.entries()) {
      const stage = String(i + 1)
      const batches = Math.round(size / BATCH / OPTIONS.shards)
      figures[`entries_${stage}`] = batches * BATCH * OPTIONS.shards
      await grow({ owner, hub, books }, batches - loaded, stage, figures)
      await measureVerify(hub, batches, batches - loaded, stage, figures)
      await measureReads(hub, books, batches, stage, figures)
      await measureStatements(hub, stage, figures)
      await measureExport(url, batches * BATCH, stage, figures)
      loaded = batches
    }
    return report(figures, String(stages.length))
  })
}

/** Ends all days of the generated entries, as if it were the day after the last one. */
const CLOCK = `
  CREATE FUNCTION bulk.now() RETURNS timestamptz LANGUAGE sql STABLE
    AS $$ SELECT max(at) + interval '1 day' FROM ledger.head $$;
  ALTER FUNCTION ledger.end_days(integer) SET search_path = bulk, pg_catalog, ledger, pg_temp`

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
  const growing = await seconds(() => extendTrees(hub))
  figures[`tree_rows_per_s_${stage}`] = rounded(rows / growing, 0)
  figures[`end_days_s_${stage}`] = rounded(await seconds(() => summarizeDays(hub)), 1)
  await owner.query('VACUUM ANALYZE ledger.snapshot, ledger.chunk, ledger.day_end, ledger.tile')
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

/** Full verification of all rows, and an incremental one of those of the stage. */
async function measureVerify(
  pool: Pool,
  batches: number,
  added: number,
  stage: string,
  figures: Record<string, number>,
): Promise<void> {
  const took = await seconds(async () => {
    const { ok, checks } = await verifyLedger(pool)
    if (!ok) throw new Error(`the ledger is not sound: ${checks.find(({ bad }) => bad > 0n)?.name}`)
  })
  const rows = BATCH * OPTIONS.shards
  figures[`verify_s_${stage}`] = rounded(took, 1)
  figures[`verify_rows_per_s_${stage}`] = rounded((batches * rows) / took, 0)
  const inSteps = await seconds(async () => {
    for (let behind = true; behind; ) {
      const { ok, shards } = await verifySince(pool, { key: KEY })
      if (!ok) throw new Error('the ledger is not sound')
      behind = shards.some((shard) => shard.behind > 0n)
    }
  })
  figures[`verify_since_rows_per_s_${stage}`] = rounded((added * rows) / inSteps, 0)
}

const KEY = signingKeyOf(generateKeyPairSync('ed25519').privateKey)

/** Income statement, balance sheet and cash flow of each year, beside the year before. */
async function measureStatements(
  pool: Pool,
  stage: string,
  figures: Record<string, number>,
): Promise<void> {
  for (const kind of STATEMENTS) {
    const took = await seconds(async () => {
      for (const year of YEARS) {
        const period = parseReportPeriod(year)!
        await financialStatement(pool, kind, [period, previousPeriod(period)])
      }
    })
    figures[`${kind}_s_${stage}`] = rounded(took / YEARS.length, 2)
  }
}

/** Exports in a child process, to measure the exporter's memory alone. */
async function measureExport(
  url: string,
  lastSeq: number,
  stage: string,
  figures: Record<string, number>,
): Promise<void> {
  const child = fork(join(import.meta.dirname, 'export-child.ts'), [url, String(lastSeq)], {
    execArgv: ['--max-semi-space-size=4'], // as in `npm run ledger`
  })
  const [result] = (await once(child, 'message')) as [ExportResult]
  figures[`export_s_${stage}`] = rounded(result.seconds, 1)
  figures[`export_postings_per_s_${stage}`] = rounded(result.postings / result.seconds, 0)
  figures[`export_rss_mb_${stage}`] = rounded(result.rssMb, 0)
}

function report(figures: Readonly<Record<string, number>>, last: string): Report {
  const at = (figure: string): number => figures[figure] ?? Number.NaN
  const flat = (kind: string): number =>
    rounded(at(`${kind}_p99_ms_${last}`) / at(`${kind}_p99_ms_1`), 2)
  const verified = at(`verify_rows_per_s_${last}`)
  const targets = [
    ...['as_of', 'as_of_tail', 'statement'].flatMap((kind) => [
      ...['1', last].map((stage) =>
        atMost(`${kind}, p99 in ms at stage ${stage}`, at(`${kind}_p99_ms_${stage}`), P99_GOAL),
      ),
      atMost(`${kind}, p99 at the last stage, times that at the first`, flat(kind), FLAT_GOAL),
    ]),
    atLeast('postings exported per second', at(`export_postings_per_s_${last}`), RATE_GOAL),
    atLeast('entries verified per second', verified, VERIFY_GOAL),
    atMost(
      'verification of an entry at the last stage, times that at the first',
      rounded(at('verify_rows_per_s_1') / verified, 2),
      FLAT_GOAL,
    ),
    atMost('memory of an export, in MB', at(`export_rss_mb_${last}`), RSS_GOAL),
  ]
  return { name: 'ledger-history', figures, targets }
}
