import type { Pool } from 'pg'
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
const ENTRIES_MAX = 1_000_000
/** Size of the dimensions that are not varied. */
const USUAL = { rows: 10_000, keys: 1_000, services: 100 }
const SIZES = { keys: [10, 1_000, 100_000], services: [1, 100, 10_000] } as const
/** Sizes up to which the measured slope is extrapolated. */
const GOALS = { rows: 1e8, keys: 1e6, services: 1e4 } as const
const FLAT_PERCENT = 10

type Dimension = keyof typeof GOALS

interface Point {
  readonly size: number
  readonly cpuUs: number
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
    const cpuUs = await withBulkLedger(
      { ...options, ...times, batches, connections: CONNECTIONS },
      async ({ owner, hub, books }) => {
        await books.load(batches)
        return measureCall(owner, hub)
      },
    )
    points.push({ size, cpuUs })
  }
  return points
}

/** Returns the CPU time of a reserve and its settle, in microseconds. */
async function measureCall(owner: Pool, hub: Pool): Promise<number> {
  // Otherwise PostgreSQL would do this work of the load while calls are measured.
  await owner.query('VACUUM ANALYZE')
  await owner.query('CHECKPOINT')
  const cpu = await cpuMeter(owner)
  const once = await ourCalls(hub, 'uniform', {}, 'bulk')
  await load(CONCURRENCY, 2, once)
  const costs: number[] = []
  while (costs.length < WINDOWS) {
    const before = cpu()
    const { answers } = await load(CONCURRENCY, SECONDS, once)
    costs.push(((cpu() - before) * 1e6) / answers)
  }
  return median(costs)
}

interface Slope {
  readonly name: Dimension
  /** Percent of the first cost by which it grows when the size grows tenfold. */
  readonly perDecade: number
  /** Percent by which it is extrapolated to grow up to the goal. */
  readonly at: number
}

/** Fits a line to the cost over the logarithm of the size, by least squares. */
function slopeOf(name: Dimension, points: readonly Point[]): Slope {
  const logs = points.map(({ size }) => Math.log10(size))
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(logs), mean(points.map(({ cpuUs }) => cpuUs))]
  const covariance = mean(points.map(({ cpuUs }, n) => (logs[n]! - x) * (cpuUs - y)))
  const variance = mean(logs.map((log) => (log - x) ** 2))
  const slope = variance === 0 ? 0 : covariance / variance
  const first = y + slope * (logs[0]! - x)
  const perDecade = (100 * slope) / first
  return { name, perDecade, at: perDecade * (Math.log10(GOALS[name]) - logs[0]!) }
}

const targetOf = ({ name, at }: Slope): Target => ({
  name: `change of the cost of a call up to ${GOALS[name].toLocaleString('en-US')} ${name}, %`,
  goal: `± ${FLAT_PERCENT}`,
  value: rounded(at, 1),
  met: Math.abs(at) <= FLAT_PERCENT,
})

const tableOf = (points: Readonly<Record<Dimension, readonly Point[]>>): Table => ({
  title: 'CPU time of a call (reserve and settle), hub and PostgreSQL',
  columns: ['dimension', 'size', 'µs'],
  rows: Object.entries(points).flatMap(([name, all]) =>
    all.map(({ size, cpuUs }) => [name, size, rounded(cpuUs)] as const),
  ),
})
