import type { Pool } from 'pg'
import { sleep } from '../../core/clock.ts'
import { cpuMeter } from './cpu-meter.ts'
import { ourCalls } from './ledger/calls.ts'
import { load, median, rounded } from './load.ts'
import type { Report, Table, Target } from './report.ts'
import { withBulkLedger } from './with-bulk-ledger.ts'

const SHARDS = 2
const BATCH = 200
const START = new Date('2026-11-01T00:00:00Z')
const STEP_MS = 10_000
const CONNECTIONS = 2
const CONCURRENCY = 64
/** Windows of each size; the median is its cost, because other work disturbs some. */
const WINDOWS = 7
const SECONDS = 1.5
/** Time after which PostgreSQL has counted what its idle connections did. */
const STATISTICS_MS = 2_000
const ENTRIES_MAX = 1_000_000
/** Size of the dimensions that are not varied. */
const USUAL = { rows: 10_000, keys: 1_000, services: 100 }
const SIZES = { keys: [10, 1_000, 10_000, 100_000], services: [1, 100, 10_000] } as const
/** From this size on, few calls of a batch share an account; those that do share its update. */
const SIZE_MIN = CONCURRENCY
/** Sizes up to which the measured slope is extrapolated. */
const GOALS = { rows: 1e8, keys: 1e6, services: 1e4 } as const
const FLAT_PERCENT = 10

type Dimension = keyof typeof GOALS

interface Point {
  readonly size: number
  readonly cpuUs: number
  /** Balances updated per call: fewer, if calls of a batch share an account. */
  readonly balances: number
}

/**
 * Measures the CPU time of a call, in this process and PostgreSQL, as the ledger grows, and
 * extrapolates it. Takes about five minutes; with `--entries 10000000` about ten more.
 */
export async function growth(entries = String(ENTRIES_MAX)): Promise<Report> {
  const rows: number[] = []
  for (let size = 1_000; size <= Number(entries); size *= 10) rows.push(size)
  const points = {
    rows: await measureAll('rows', rows),
    keys: await measureAll('keys', SIZES.keys),
    services: await measureAll('services', SIZES.services),
  }
  const slopes = (Object.keys(GOALS) as Dimension[]).map((name) => slopeOf(name, points[name]))
  return {
    name: 'growth',
    figures: Object.fromEntries(
      slopes.flatMap(({ name, perDecade, at }) => [
        [`${name}_percent_per_decade`, rounded(perDecade, 2)],
        [`${name}_percent_at_goal`, rounded(at, 1)],
      ]),
    ),
    tables: [tableOf(points)],
    targets: slopes.map(targetOf),
  }
}

/** Measures calls with each size of one dimension, on a ledger of its own. */
async function measureAll(name: Dimension, sizes: readonly number[]): Promise<readonly Point[]> {
  const points: Point[] = []
  for (const size of sizes) {
    const sizesOf: Record<Dimension, number> = { ...USUAL, [name]: size }
    const { rows, keys, services } = sizesOf
    // Each key buys credits first; then come the rows of calls.
    const batches = 2 * Math.ceil((keys + rows) / BATCH / SHARDS / 2) + 2
    const options = { agents: keys, providers: services, shards: SHARDS, batch: BATCH }
    const times = { start: START, stepMs: STEP_MS }
    const cost = await withBulkLedger(
      { ...options, ...times, batches, connections: CONNECTIONS },
      async ({ owner, hub, books }) => {
        await books.load(batches)
        return measureCall(owner, hub)
      },
    )
    points.push({ size, ...cost })
  }
  return points
}

/** Measures a reserve and its settle. */
async function measureCall(owner: Pool, hub: Pool): Promise<Omit<Point, 'size'>> {
  // Otherwise PostgreSQL would do this work of the load while calls are measured.
  await owner.query('VACUUM ANALYZE')
  await owner.query('CHECKPOINT')
  const cpu = await cpuMeter(owner)
  const once = await ourCalls(hub, 'uniform', {}, 'bulk')
  await load(CONCURRENCY, 2, once)
  const costs: number[] = []
  const updatedBefore = await updatedBalances(owner)
  let calls = 0
  while (costs.length < WINDOWS) {
    const before = cpu()
    const { answers } = await load(CONCURRENCY, SECONDS, once)
    costs.push(((cpu() - before) * 1e6) / answers)
    calls += answers
  }
  const balances = ((await updatedBalances(owner)) - updatedBefore) / calls
  return { cpuUs: median(costs), balances }
}

/** Returns how many balances were ever updated. */
async function updatedBalances(owner: Pool): Promise<number> {
  await sleep(STATISTICS_MS)
  const { rows } = await owner.query<{ count: bigint }>(
    `SELECT n_tup_upd AS count FROM pg_stat_user_tables
     WHERE relid = 'ledger.balance'::regclass`,
  )
  return Number(rows[0]!.count)
}

interface Slope {
  readonly name: Dimension
  /** Smallest size of the fit. */
  readonly from: number
  /** Percent of the first cost by which it grows when the size grows tenfold. */
  readonly perDecade: number
  /** Percent by which it is extrapolated to grow up to the goal. */
  readonly at: number
}

/** Fits a line to the cost over the logarithm of the size, by least squares. */
function slopeOf(name: Dimension, all: readonly Point[]): Slope {
  const points = all.filter(({ size }) => size >= SIZE_MIN)
  const logs = points.map(({ size }) => Math.log10(size))
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(logs), mean(points.map(({ cpuUs }) => cpuUs))]
  const covariance = mean(points.map(({ cpuUs }, n) => (logs[n]! - x) * (cpuUs - y)))
  const variance = mean(logs.map((log) => (log - x) ** 2))
  const slope = variance === 0 ? 0 : covariance / variance
  const first = y + slope * (logs[0]! - x)
  const perDecade = (100 * slope) / first
  const at = perDecade * (Math.log10(GOALS[name]) - logs[0]!)
  return { name, from: points[0]!.size, perDecade, at }
}

const targetOf = ({ name, from, at }: Slope): Target => ({
  name: `change of the cost of a call from ${text(from)} to ${text(GOALS[name])} ${name}, %`,
  goal: `± ${FLAT_PERCENT}`,
  value: rounded(at, 1),
  met: Math.abs(at) <= FLAT_PERCENT,
})

const text = (size: number): string => size.toLocaleString('en-US')

const tableOf = (points: Readonly<Record<Dimension, readonly Point[]>>): Table => ({
  title: 'CPU time of a call (reserve and settle), hub and PostgreSQL',
  columns: ['dimension', 'size', 'µs', 'balances updated'],
  rows: Object.entries(points).flatMap(([name, all]) =>
    all.map(({ size, cpuUs, balances }) => [name, size, rounded(cpuUs), rounded(balances, 2)]),
  ),
})
