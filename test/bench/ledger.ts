import { rmSync } from 'node:fs'
import type { Pool } from 'pg'
import { migrate } from '../../core/db/migrate.ts'
import { openDatabase } from '../../core/db/open.ts'
import { createPool } from '../../core/db/pool.ts'
import { newFolder } from './folder.ts'
import { openBooks } from './ledger/calls.ts'
import { CELLS, type Cell, nameOf } from './ledger/cells.ts'
import { startWorkerPool, type WorkerPool } from './ledger/worker-pool.ts'
import { type LoadResult, median, rounded, summary } from './load.ts'
import { atLeast, none, type Report, type Table, type Target } from './report.ts'

const ROUNDS = 3
const PROCESSES = 4

/** Medians of the rounds; bytes are per call. */
interface Measured extends LoadResult {
  readonly errors: number
  readonly walBytes: number
  readonly tableBytes: number
}
type Results = ReadonlyMap<string, Measured>

/**
 * Calls (reserve and settle, both durable) per second of our ledger with and without batching and
 * of the naive one, compared with the plain inserts of this PostgreSQL, in turns.
 */
export async function ledger(): Promise<Report> {
  const dataDir = newFolder()
  const database = await openDatabase({ dataDir })
  const owner = createPool(database.url, { max: 2, applicationName: 'bench' })
  const workers = startWorkerPool(PROCESSES, database.url)
  try {
    await migrate(database.url)
    await owner.query('SELECT ledger.ensure_partitions()')
    await openBooks(owner)
    await owner.query('VACUUM ANALYZE')
    const rounds: Results[] = []
    for (let round = 0; round < ROUNDS; round++) rounds.push(await measureAll(workers, owner))
    return report(rounds)
  } finally {
    workers.stop()
    await owner.end()
    await database.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function measureAll(workers: WorkerPool, owner: Pool): Promise<Results> {
  const results = new Map<string, Measured>()
  for (const cell of CELLS) results.set(cell.name, await measure(workers, owner, cell))
  return results
}

async function measure(
  workers: WorkerPool,
  owner: Pool,
  { job, processes }: Cell,
): Promise<Measured> {
  const before = await written(owner)
  const samples = await workers.run(job, processes)
  const after = await written(owner)
  const calls = samples.reduce((sum, { calls }) => sum + calls, 0)
  for (const { firstError } of samples) if (firstError !== undefined) console.error(firstError)
  return {
    ...summary(samples),
    errors: samples.reduce((sum, { errors }) => sum + errors, 0),
    walBytes: (after.wal - before.wal) / calls,
    tableBytes: (after.tables - before.tables) / calls,
  }
}

/** Returns the bytes of WAL and of all tables and indexes. */
async function written(owner: Pool): Promise<{ wal: number; tables: number }> {
  const { rows } = await owner.query<{ wal: string; tables: string }>(
    `SELECT pg_current_wal_insert_lsn() - '0/0' AS wal, sum(pg_total_relation_size(oid)) AS tables
     FROM pg_class WHERE relkind = 'r'
       AND relnamespace IN ('ledger'::regnamespace, 'naive'::regnamespace, 'public'::regnamespace)`,
  )
  return { wal: Number(rows[0]!.wal), tables: Number(rows[0]!.tables) }
}

function medians(rounds: readonly Results[]): Results {
  const of = (name: string): Measured => {
    const all = rounds.map((results) => results.get(name)!)
    const middle = (figure: keyof Measured) => median(all.map((each) => each[figure]))
    return {
      perSecond: middle('perSecond'),
      p50Ms: middle('p50Ms'),
      p99Ms: middle('p99Ms'),
      errors: all.reduce((sum, { errors }) => sum + errors, 0),
      walBytes: middle('walBytes'),
      tableBytes: middle('tableBytes'),
    }
  }
  return new Map(CELLS.map(({ name }) => [name, of(name)]))
}

function report(rounds: readonly Results[]): Report {
  const results = medians(rounds)
  const at = (...name: Parameters<typeof nameOf>): Measured => results.get(nameOf(...name))!
  const rate = (...name: Parameters<typeof nameOf>) => at(...name).perSecond
  const ratio = (one: string, other: string) =>
    median(rounds.map((round) => round.get(one)!.perSecond / round.get(other)!.perSecond))
  const figures: Record<string, number> = {}
  for (const concurrency of [1, 64, 256]) {
    const suffix = concurrency === 256 ? '' : `_at_${concurrency}`
    const ours = nameOf('batch', 'uniform', 1, concurrency)
    const naive = nameOf('naive', 'uniform', 1, concurrency)
    figures[`reserve_settle_pairs_per_s${suffix}`] = rounded(results.get(ours)!.perSecond, 0)
    figures[`naive_pairs_per_s${suffix}`] = rounded(results.get(naive)!.perSecond, 0)
    figures[`ratio${suffix}`] = rounded(ratio(ours, naive))
  }
  figures['hot_to_uniform_of_four'] = rounded(
    ratio(nameOf('batch', 'hot', 4, 256), nameOf('batch', 'uniform', 4, 256)),
    2,
  )
  figures['wal_bytes_per_call'] = rounded(at('batch', 'uniform', 1, 256).walBytes, 0)
  figures['table_bytes_per_call'] = rounded(at('batch', 'uniform', 1, 256).tableBytes, 0)
  figures['naive_wal_bytes_per_call'] = rounded(at('naive', 'uniform', 1, 256).walBytes, 0)
  figures['naive_table_bytes_per_call'] = rounded(at('naive', 'uniform', 1, 256).tableBytes, 0)
  figures['inserts_per_s_at_1'] = rounded(rate('insert', 'uniform', 1, 1), 0)
  figures['inserts_per_s_at_64'] = rounded(rate('insert', 'uniform', 1, 64), 0)
  figures['inserted_rows_per_s_by_100'] = rounded(100 * rate('insert 100', 'uniform', 1, 1), 0)
  figures['errors'] = [...results.values()].reduce((sum, { errors }) => sum + errors, 0)
  return { name: 'ledger', figures, tables: [table(results)], targets: targets(figures) }
}

function targets(figures: Readonly<Record<string, number>>): Target[] {
  const target = (name: string, figure: string, goal: number): Target =>
    atLeast(name, figures[figure]!, goal)
  return [
    target('calls per second, 256 at a time', 'reserve_settle_pairs_per_s', 20_000),
    target('times the naive ledger, 256 at a time', 'ratio', 25),
    target('times the naive ledger, one at a time', 'ratio_at_1', 1),
    target('four processes: hot account to uniform', 'hot_to_uniform_of_four', 0.7),
    none('errors', figures['errors']!),
  ]
}

const table = (results: Results): Table => ({
  title: 'Calls (reserve and settle) or inserts; medians of rounds in turns; bytes per call',
  columns: ['', 'accounts', 'processes', 'at once', '/s', 'p50 ms', 'p99 ms', 'WAL', 'table'],
  rows: CELLS.map(({ name, processes, job: { what, accounts, concurrency } }) => {
    const of = results.get(name)!
    const bytes = [rounded(of.walBytes, 0), rounded(of.tableBytes, 0)]
    const times = [of.p50Ms.toFixed(2), of.p99Ms.toFixed(2)]
    return [what, accounts, processes, concurrency, rounded(of.perSecond, 0), ...times, ...bytes]
  }),
})
