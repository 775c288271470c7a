import { BATCH_MAX } from '../../core/ledger/batch.ts'
import {
  AVAILABLE_MS,
  COMMIT_MS,
  CORES,
  SHARDS_MAX,
  USED,
  WORKERS_MAX,
} from './cluster/assumptions.ts'
import { CALIBRATION, msPerCall, shardCallsMax } from './cluster/calibration.ts'
import { type Scenario, type Simulated, simulate } from './cluster/simulation.ts'
import { rounded } from './load.ts'
import type { Report, Table } from './report.ts'

const RATES = [100_000, 1_000_000] as const
/** Shards that a hub sends to; the last: every hub sends to every shard, as today. */
const SHARDS_OF_A_HUB = [1, 4, Number.POSITIVE_INFINITY] as const
/** Tried where fewer are not enough, although HUB_SHARDS does not accept as many. */
const MORE_SHARDS = 4 * SHARDS_MAX

/** Measured by `npm run bench -- upstream`: a hub serves 4,000 calls per second. */
const HUB_MS = 0.25
/** Measured by `test/faults/high-availability.test.ts`: the machine of a primary dies. */
const FAILOVER_MS = 20_900
/** Assumed. */
const UPSTREAM_MS = 100
/** Assumed; fewer if the ledger has no more shards. */
const SHARDS_PER_WORKER = 16
/** Goal for the time in hub and ledger. */
const P99_MAX_MS = 250
/** Assumed: connections that a worker serves well. */
const CONNECTIONS_MAX = 500
/** Load during an overload, compared with that for which the machines are sized. */
const OVERLOAD = 1.5

const WARM_MS = 4_000
const MS = 1_000
const FAULT_AT_MS = 5_000
const FAULT_MS = 26_000

interface Size {
  readonly rate: number
  readonly hubs: number
  readonly hubsPerShard: number
  readonly workers: number
  /** Groups of hubs that send to the shards of a worker. */
  readonly groups: number
  readonly shardsPerWorker: number
}

interface Sized extends Size {
  readonly result: Simulated
  readonly isEnough: boolean
}

/**
 * Throughput and waits of hubs and a distributed ledger at 10⁵ and 10⁶ calls per second, by a
 * simulation with the costs that `npm run bench -- cluster` measured; the machines that they need,
 * and what limits them.
 */
export async function clusterSimulation(): Promise<Report> {
  const sizes = RATES.flatMap((rate) => {
    const allowed = SHARDS_OF_A_HUB.map((shards) => findSize(rate, shards, SHARDS_MAX))
    const isReached = allowed.some(({ isEnough }) => isEnough)
    return isReached ? allowed : [...allowed, findSize(rate, 1, MORE_SHARDS)]
  })
  const figures: Record<string, number> = {}
  for (const rate of RATES) {
    const best = smallest(sizes, rate)
    if (best === undefined) continue
    figures[`workers_at_${rate}`] = best.workers
    figures[`shards_at_${rate}`] = best.workers * best.shardsPerWorker
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
const scenario = ({ rate, workers, hubsPerShard, groups, shardsPerWorker }: Size): Scenario => ({
  ...CALIBRATION.worker,
  load: { callsPerSecond: rate / workers },
  hubs: hubsPerShard * groups,
  groups,
  shards: shardsPerWorker,
  workers: 1,
  hubMs: HUB_MS,
  commitMs: COMMIT_MS,
  cores: CORES,
  upstreamMs: UPSTREAM_MS,
  warmMs: WARM_MS,
  ms: MS,
  seed: 1,
})

/** Doubles the workers until they are enough, or as many as there may be. */
function findSize(rate: number, shardsOfAHub: number, shardsMax: number): Sized {
  const cores = (rate * msPerCall(CALIBRATION.worker, BATCH_MAX)) / 1_000 / USED
  for (let workers = 2 ** Math.max(0, Math.ceil(Math.log2(cores / CORES))); ; workers *= 2) {
    const size = sizeOf(
      rate,
      shardsOfAHub,
      Math.min(shardsMax, workers * SHARDS_PER_WORKER),
      workers,
    )
    const result = simulate(scenario(size))
    const isEnough =
      result.callsPerSecond * workers > 0.98 * rate &&
      result.coreLoad <= USED &&
      result.p99Ms <= P99_MAX_MS
    if (isEnough || workers >= WORKERS_MAX) return { ...size, result, isEnough }
  }
}

function sizeOf(rate: number, shardsOfAHub: number, shards: number, workers: number): Size {
  const shardsPerWorker = shards / workers
  const fewestHubs = Math.ceil((rate * HUB_MS) / 1_000 / USED)
  const groups = Math.max(1, shards / shardsOfAHub)
  const hubsPerShard = Math.ceil(fewestHubs / groups)
  return {
    rate,
    workers,
    hubs: hubsPerShard * groups,
    hubsPerShard,
    groups: Math.max(1, shardsPerWorker / shardsOfAHub),
    shardsPerWorker,
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
    `Hubs (one thread each) and workers (${CORES} cores) for p99 ≤ ${P99_MAX_MS} ms in hub and ` +
    `ledger, without the provider; * not reached. HUB_SHARDS accepts at most ${SHARDS_MAX}`,
  columns: 'calls/s|hubs per shard|hubs|workers|shards|served/s|p50 ms|p99 ms|in a batch|hub|cores'
    .split('|')
    .concat('shard', 'connections'),
  rows: sizes.map((size) => {
    const { rate, hubs, hubsPerShard, workers, shardsPerWorker, result: r, isEnough } = size
    return [
      whole(rate),
      hubsPerShard === hubs ? `all (${hubs})` : whole(hubsPerShard),
      hubs,
      `${workers}${isEnough ? '' : ' *'}`,
      workers * shardsPerWorker,
      rounded(r.callsPerSecond * workers, 0),
      rounded(r.p50Ms),
      rounded(r.p99Ms),
      rounded(r.operationsPerBatch),
      ...[(rate * HUB_MS) / 1_000 / hubs, r.coreLoad, r.shardLoad].map(percent),
      hubsPerShard * shardsPerWorker,
    ]
  }),
})

function faultTable(sizes: readonly Sized[]): Table {
  const { moveMs } = CALIBRATION
  const rows = RATES.flatMap((rate) => {
    const best = smallest(sizes, rate)
    if (best === undefined) return []
    const of = (changes: Partial<Scenario>) =>
      simulate({ ...scenario(best), ms: FAULT_MS, ...changes })
    const move = { shard: 0, atMs: FAULT_AT_MS, forMs: moveMs }
    const failover = { worker: 0, atMs: FAULT_AT_MS, forMs: FAILOVER_MS }
    const overload = { callsPerSecond: (OVERLOAD * rate) / best.workers }
    const faults = [
      ['none', of({})],
      [`move of a shard (${moveMs} ms)`, of({ interruptions: [move] })],
      [`failover (${FAILOVER_MS} ms)`, of({ interruptions: [failover] })],
      [`load × ${OVERLOAD}`, of({ load: overload })],
    ] as const
    return faults.map(([fault, r]) => [
      fault,
      whole((r.begun * 1_000) / FAULT_MS),
      rounded(r.callsPerSecond, 0),
      rounded((r.refused * 1_000) / FAULT_MS, 0),
      rounded(r.p99Ms, 0),
      rounded(r.longestMs, 0),
    ])
  })
  return {
    title: `One worker of the smallest size, in ${FAULT_MS / 1_000} s with a fault`,
    columns: ['fault', 'calls/s', 'served/s', 'refused/s', 'p99 ms', 'longest ms'],
    rows,
  }
}

function limitTable(): Table {
  const { worker, operationsPerBatch, coordinatorMsPerCall, recordMsPerCall } = CALIBRATION
  const perShard = shardCallsMax(worker)
  const rows: readonly (readonly [string, string, number])[] = [
    ['thread of a hub', `1,000 ÷ ${HUB_MS} ms`, 1_000 / HUB_MS],
    ['shard, batches of 1,000', 'one batch at a time, two operations a call', perShard],
    [`${SHARDS_MAX} shards`, `${SHARDS_MAX} × ${whole(perShard)}`, SHARDS_MAX * perShard],
    [
      `worker of ${CORES} cores, batches of ${operationsPerBatch}`,
      `${AVAILABLE_MS} ms ÷ ${rounded(msPerCall(worker, operationsPerBatch), 4)} ms`,
      AVAILABLE_MS / msPerCall(worker, operationsPerBatch),
    ],
    [
      'hubs of which each sends to every shard',
      `${CONNECTIONS_MAX} connections ÷ ${SHARDS_PER_WORKER} shards × ${1_000 / HUB_MS} calls/s`,
      ((CONNECTIONS_MAX / SHARDS_PER_WORKER) * 1_000) / HUB_MS,
    ],
    [
      'coordinator, by way of which batches go',
      `${AVAILABLE_MS} ms ÷ (${coordinatorMsPerCall} + ${recordMsPerCall}) ms`,
      AVAILABLE_MS / (coordinatorMsPerCall + recordMsPerCall),
    ],
    [
      'coordinator, which only stores the records of calls',
      `${AVAILABLE_MS} ms ÷ ${recordMsPerCall} ms`,
      AVAILABLE_MS / recordMsPerCall,
    ],
  ]
  return {
    title: 'Limits, in calls per second',
    columns: ['part', 'arithmetic', 'calls/s'],
    rows: rows.map(([part, arithmetic, limit]) => [part, arithmetic, rounded(limit, 0)]),
  }
}
