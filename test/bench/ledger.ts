import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { systemClock } from '../../core/clock.ts'
import { migrate } from '../../core/db/migrate.ts'
import { openDatabase } from '../../core/db/open.ts'
import { createPool } from '../../core/db/pool.ts'
import { openShards } from '../../core/identity/shards.ts'
import { uuidv7 } from '../../core/ids.ts'
import { type AccountRef, Ledger } from '../../core/ledger/ledger.ts'
import { type LoadResult, load, median, rounded } from './load.ts'
import type { Report } from './main.ts'
import { NAIVE_SCHEMA, naiveReserve, naiveSettle } from './naive.ts'

const AGENTS = 10_000
const PROVIDERS = 100
const ROUNDS = 3
const SECONDS = 4
const SHARDS = 2
const NAIVE_CONNECTIONS = 20
const RATIO_GOAL = 20

/** Reserve+settle pairs per second, ours and the naive ledger's, durable, in turns. */
export async function ledger(): Promise<Report> {
  const dataDir = mkdtempSync(join(tmpdir(), 'agenthub-bench-'))
  const database = await openDatabase({ dataDir })
  const owner = createPool(database.url, { max: 2, applicationName: 'bench' })
  const hub = createPool(database.url, { max: 8, role: 'hub_app', applicationName: 'bench' })
  const naive = createPool(database.url, { max: NAIVE_CONNECTIONS, applicationName: 'naive' })
  try {
    await migrate(database.url)
    await owner.query('SELECT ledger.ensure_partitions()')
    const ours = await ourCalls(owner, hub)
    const theirs = await naiveCalls(owner, naive)
    await owner.query('VACUUM ANALYZE')
    const at: Record<string, { ours: LoadResult[]; naive: LoadResult[] }> = {}
    for (const concurrency of [1, 64, 256]) {
      const results = { ours: [] as LoadResult[], naive: [] as LoadResult[] }
      await load(concurrency, 1, ours)
      await load(concurrency, 1, theirs)
      for (let round = 0; round < ROUNDS; round++) {
        results.naive.push(await load(concurrency, SECONDS, theirs))
        results.ours.push(await load(concurrency, SECONDS, ours))
      }
      at[concurrency] = results
    }
    return report(at)
  } finally {
    await Promise.all([owner.end(), hub.end(), naive.end()])
    await database.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

const amountOf = (): number => 1_000 + Math.floor(Math.random() * 5_000)
const pick = (count: number): number => Math.floor(Math.random() * count)

async function ourCalls(owner: Pool, pool: Pool): Promise<() => Promise<void>> {
  await openShards(owner, SHARDS)
  await owner.query(
    `INSERT INTO ledger.account (code, asset, home)
     SELECT 'liabilities:agents:bench-' || g || ':credits', 1, g % ${SHARDS}
     FROM generate_series(1, $1) g`,
    [AGENTS],
  )
  await owner.query(
    `INSERT INTO ledger.balance (account, shard, asset, balance, floor)
     SELECT id, home, 1, 1000000000000, 0 FROM ledger.account
     WHERE code LIKE 'liabilities:agents:%'`,
  )
  const { rows } = await owner.query<{ id: bigint; code: string; home: number }>(
    `SELECT id, code, home FROM ledger.account WHERE code LIKE 'liabilities:agents:%'`,
  )
  const agents: AccountRef[] = rows.map(({ id, code, home }) => ({
    id,
    code,
    asset: 'USDC',
    shard: home,
  }))
  const books = new Ledger(pool, { shards: SHARDS }) // as the hub has it
  const payees = await Promise.all(
    Array.from({ length: PROVIDERS }, (_, i) =>
      books.open(`liabilities:providers:bench-${i}:x`, 'USDC'),
    ),
  )
  return async () => {
    const hold = { call: uuidv7(systemClock.now().getTime()), owner: agents[pick(AGENTS)]! }
    const amount = BigInt(amountOf())
    const terms = { commissionBps: 1_000, ttlSeconds: 60, endpoint: 1, priceVersion: 1 }
    const payee = payees[pick(PROVIDERS)]!
    const reserved = await books.reserve({ ...hold, ...terms, amount, payee })
    const settled = await books.settle(hold, amount)
    if (reserved.outcome !== 'applied' || settled.outcome !== 'applied') {
      throw new Error(`not applied: ${reserved.outcome}, ${settled.outcome}`)
    }
  }
}

async function naiveCalls(owner: Pool, pool: Pool): Promise<() => Promise<void>> {
  await owner.query(NAIVE_SCHEMA)
  await owner.query(
    `INSERT INTO naive.account (id, available)
     SELECT g, 1000000000000 FROM generate_series(1, $1) g`,
    [1 + PROVIDERS + AGENTS],
  )
  return async () => {
    const call = {
      id: uuidv7(systemClock.now().getTime()),
      agent: 2 + PROVIDERS + pick(AGENTS),
      provider: 2 + pick(PROVIDERS),
      amount: amountOf(),
    }
    await naiveReserve(pool, call)
    await naiveSettle(pool, call)
  }
}

function report(at: Record<string, { ours: LoadResult[]; naive: LoadResult[] }>): Report {
  const rate = (results: readonly LoadResult[]) => median(results.map((r) => r.perSecond))
  const figures: Record<string, number> = {}
  for (const [concurrency, { ours, naive }] of Object.entries(at)) {
    const suffix = concurrency === '256' ? '' : `_at_${concurrency}`
    figures[`reserve_settle_pairs_per_s${suffix}`] = rounded(rate(ours), 0)
    figures[`naive_pairs_per_s${suffix}`] = rounded(rate(naive), 0)
    figures[`ratio${suffix}`] = rounded(rate(ours) / rate(naive))
    figures[`pair_p50_ms_at_${concurrency}`] = rounded(median(ours.map((r) => r.p50Ms)), 2)
    figures[`pair_p99_ms_at_${concurrency}`] = rounded(median(ours.map((r) => r.p99Ms)), 2)
    figures[`naive_p99_ms_at_${concurrency}`] = rounded(median(naive.map((r) => r.p99Ms)), 2)
  }
  const value = figures['ratio'] ?? 0
  const name = 'reserve+settle at 256 concurrent calls, times the naive ledger'
  const goal = `≥ ${RATIO_GOAL}`
  return { name: 'ledger', figures, targets: [{ name, goal, value, met: value >= RATIO_GOAL }] }
}
