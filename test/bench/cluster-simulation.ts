import { type BatchCosts, CALIBRATION, msPerCall } from './cluster/calibration.ts'
import { type Scenario, type Simulated, simulate } from './cluster/simulation.ts'
import { rounded } from './load.ts'
import type { Report, Table } from './report.ts'

const RATES = [100_000, 1_000_000] as const
/** Hubs that share a shard; the last: every hub serves every shard, as today. */
const SHARED_BY = [1, 4, Number.POSITIVE_INFINITY] as const

/** Time of a call on the thread of a hub, which serves 4,000 a second (`plugins/upstream`). */
const HUB_MS = 0.25
/** Assumed: a write to a disk, and one to the standby in another zone. */
const COMMIT_MS = 0.5 + 1
const UPSTREAM_MS = 100
const WARM_MS = 4_000
const FAULT_AT_MS = 5_000
const CORES = 16
const SHARDS_PER_WORKER = 16
/** Assumed load at which machines are full. */
const USED = 0.7
const WORKERS_MAX = 64 // physical shards
const P99_MAX_MS = 250
/** Connections that a worker serves well. */
const CONNECTIONS_MAX = 500
/** Measured under load on one machine: failover of a worker, and the end of a move. */
const FAILOVER_MS = 9_800
const MOVE_MS = 1_700

interface Sized {
  readonly rate: number
  readonly hubs: number
  readonly hubsPerShard: number
  readonly workers: number
  readonly result: Simulated
  readonly isEnough: boolean
}

/**
 * Throughput and waits of hubs and a distributed ledger at 10⁵ and 10⁶ calls per second, by a
 * simulation with the costs that `npm run bench -- cluster` measured; the machines that they need,
 * and what limits them.
 */
export async function clusterSimulation(): Promise<Report> {
  const sizes = RATES.flatMap((rate) => SHARED_BY.map((shared) => findSize(rate, shared)))
  const figures: Record<string, number> = {}
  for (const rate of RATES) {
    const best = smallest(sizes, rate)
    if (best === undefined) continue
    figures[`workers_at_${rate}`] = best.workers
    figures[`hubs_at_${rate}`] = best.hubs
    figures[`calls_per_s_at_${rate}`] = rounded(best.result.callsPerSecond * best.workers, 0)
    figures[`p99_ms_at_${rate}`] = rounded(best.result.p99Ms)
  }
  const tables = [sizeTable(sizes), faultTable(sizes), limitTable()]
  return { name: 'cluster-simulation', figures, tables, targets: [] }
}

/**
 * Scenario of one worker, its shards and the hubs that send to them. It stands for all: workers do
 * not affect one another.
 */
const scenario = (of: Omit<Sized, 'result' | 'isEnough'>): Scenario => ({
  ...CALIBRATION.worker,
  load: { callsPerSecond: of.rate / of.workers },
  hubs: of.hubsPerShard === of.hubs ? of.hubs : Math.ceil(of.hubs / of.workers),
  hubsPerShard: of.hubsPerShard,
  shards: SHARDS_PER_WORKER,
  workers: 1,
  hubMs: HUB_MS,
  commitMs: COMMIT_MS,
  cores: CORES,
  upstreamMs: UPSTREAM_MS,
  warmMs: WARM_MS,
  ms: 1_000,
  seed: 1,
})

/** Doubles the workers until they are enough, or as many as there may be. */
function findSize(rate: number, sharedBy: number): Sized {
  const fewest = Math.ceil((rate * HUB_MS) / 1_000 / USED)
  const cores = (rate * msPerCall(CALIBRATION.worker, 1_000)) / 1_000 / USED
  for (let workers = 2 ** Math.max(0, Math.ceil(Math.log2(cores / CORES))); ; workers *= 2) {
    const most = workers * SHARDS_PER_WORKER
    const groups = Math.min(most, 2 ** Math.floor(Math.log2(fewest / sharedBy)))
    const isGrouped = groups >= workers
    const hubsPerShard = isGrouped ? Math.ceil(fewest / groups) : fewest
    const size = { rate, workers, hubs: isGrouped ? hubsPerShard * groups : fewest, hubsPerShard }
    const result = simulate(scenario(size))
    const isEnough =
      result.callsPerSecond * workers > 0.98 * rate &&
      result.coreLoad <= USED &&
      result.p99Ms <= P99_MAX_MS
    if (isEnough || 2 * workers > WORKERS_MAX) return { ...size, result, isEnough }
  }
}

const smallest = (sizes: readonly Sized[], rate: number): Sized | undefined =>
  sizes
    .filter((each) => each.rate === rate && each.isEnough)
    .toSorted((a, b) => a.workers - b.workers || a.hubs - b.hubs)[0]

const percent = (share: number): string => `${rounded(100 * share, 0)} %`
const whole = (value: number): string => rounded(value, 0).toLocaleString('en-US')

const sizeTable = (sizes: readonly Sized[]): Table => ({
  title:
    `Hubs (one thread each) and workers (${CORES} cores, ${SHARDS_PER_WORKER} shards each) for ` +
    `p99 ≤ ${P99_MAX_MS} ms in hub and ledger, without the provider; * not reached`,
  columns: 'calls/s|hubs per shard|hubs|workers|served/s|p50 ms|p99 ms|in a batch|hub|cores|shard'
    .split('|')
    .concat('connections'),
  rows: sizes.map(({ rate, hubs, hubsPerShard, workers, result: r, isEnough }) => [
    whole(rate),
    hubsPerShard === hubs ? `all (${hubs})` : whole(hubsPerShard),
    hubs,
    `${workers}${isEnough ? '' : ' *'}`,
    rounded(r.callsPerSecond * workers, 0),
    rounded(r.p50Ms),
    rounded(r.p99Ms),
    rounded(r.operationsPerBatch),
    ...[(rate * HUB_MS) / 1_000 / hubs, r.coreLoad, r.shardLoad].map(percent),
    hubsPerShard * SHARDS_PER_WORKER,
  ]),
})

function faultTable(sizes: readonly Sized[]): Table {
  const rows = RATES.flatMap((rate) => {
    const best = smallest(sizes, rate)
    if (best === undefined) return []
    const of = (interruptions: Scenario['interruptions'] = []) =>
      simulate({ ...scenario(best), ms: 13_000, interruptions })
    const faults = [
      ['none', of()],
      [`move of a shard (${MOVE_MS} ms)`, of([{ shard: 0, atMs: FAULT_AT_MS, forMs: MOVE_MS }])],
      [`failover (${FAILOVER_MS} ms)`, of([{ worker: 0, atMs: FAULT_AT_MS, forMs: FAILOVER_MS }])],
    ] as const
    return faults.map(([fault, r]) => [
      fault,
      whole(rate / best.workers),
      rounded(r.callsPerSecond, 0),
      rounded(r.p99Ms, 0),
      rounded(r.longestMs, 0),
      r.refused,
    ])
  })
  return {
    title: 'Calls of the worker concerned within 13 s; those of the others notice nothing',
    columns: ['fault', 'calls/s', 'served/s', 'p99 ms', 'longest ms', 'refused'],
    rows,
  }
}

function limitTable(): Table {
  const { worker, coordinatorMsPerCall, recordMsPerCall } = CALIBRATION
  const available = CORES * 1_000 * USED
  const perShard = (1_000 * 1_000) / (batchOf(worker, 1_000) + COMMIT_MS) / 2
  const perWorker = available / msPerCall(worker, 256)
  const rows: readonly (readonly [string, string, number])[] = [
    ['thread of a hub', `1,000 ÷ ${HUB_MS} ms`, 1_000 / HUB_MS],
    ['head of a shard, batches of 1,000', 'one batch at a time, two operations a call', perShard],
    [`worker of ${CORES} cores, batches of 256`, `at ${percent(USED)}`, perWorker],
    [`${WORKERS_MAX} workers`, 'one physical shard each', WORKERS_MAX * perWorker],
    [
      'hubs per worker with all hubs on all shards',
      `${CONNECTIONS_MAX} connections ÷ ${SHARDS_PER_WORKER} shards × ${1_000 / HUB_MS} calls/s`,
      ((CONNECTIONS_MAX / SHARDS_PER_WORKER) * 1_000) / HUB_MS,
    ],
    [
      'coordinator, by way of which batches go',
      `${available} ms ÷ (${coordinatorMsPerCall} + ${recordMsPerCall}) ms`,
      available / (coordinatorMsPerCall + recordMsPerCall),
    ],
    [
      'coordinator, which only stores the records of calls',
      `${available} ms ÷ ${recordMsPerCall} ms`,
      available / recordMsPerCall,
    ],
  ]
  return {
    title: 'Limits, in calls per second',
    columns: ['part', 'arithmetic', 'calls/s'],
    rows: rows.map(([part, arithmetic, limit]) => [part, arithmetic, rounded(limit, 0)]),
  }
}

const batchOf = ({ batchMs, operationMs }: BatchCosts, operations: number): number =>
  batchMs + operationMs * operations
