import { median, rounded, type Sample } from '../load.ts'
import { atMost, none, type Report, type Table, type Target } from '../report.ts'
import { AVAILABLE_MS, CORES, SHARDS_MAX, USED } from './assumptions.ts'
import {
  type BatchCosts,
  type Calibration,
  costsOf,
  type Measured,
  msPerCall,
  shardCallsMax,
} from './calibration.ts'

/** Calls of one turn; CPU times are in microseconds per call. */
export interface Turn {
  readonly route: 'plain' | 'direct' | 'coordinator'
  /** Concurrent calls for each shard. */
  readonly callers: number
  readonly workers: number
  readonly round: number
  readonly errors: number
  readonly callsPerSecond: number
  readonly operationsPerBatch: number
  /** CPU of the single server, or of all workers. */
  readonly serverUs: number
  readonly coordinatorUs: number
  readonly clientUs: number
}

/** Shards of the measured ledgers. */
export const SHARDS = 4
/**
 * Concurrent calls for each shard. The costs of batches are derived from the fewest and the most;
 * the simulation is compared with those between.
 */
export const CALLERS = { fewest: 1, between: [32, 128], most: 256 } as const
const GOALS = { ratio: 1.15, coordinatorUs: 10, spread: 1.1 } as const
/** Machines of the expected curve. */
const MACHINES = [2, 4, 8, 16, 32] as const

/** Measurements besides the turns. CPU times are those of the coordinator. */
export interface Surroundings {
  /** Without calls, in milliseconds per second. */
  readonly idleMs: number
  /** To store the record of a call. */
  readonly recordUs: number
  /** Calls while shards moved. */
  readonly moves: readonly Sample[]
  readonly loadAverage: number
}

/** Reports the medians of all turns. */
export function clusterReport(
  turns: readonly Turn[],
  { idleMs, recordUs, moves, loadAverage }: Surroundings,
): Report & { readonly calibration: Calibration } {
  const stages = [...new Set(turns.map(({ workers }) => workers))]
  const figures: Record<string, number> = {}
  for (const workers of stages) {
    const here = turns.filter((turn) => turn.workers === workers)
    figures[`ratio_of_${workers}`] = rounded(ratio(here, CALLERS.most), 2)
    figures[`ratio_of_${workers}_one_at_a_time`] = rounded(ratio(here, CALLERS.fewest), 2)
    const direct = of(here, 'direct', CALLERS.most)
    figures[`worker_us_of_${workers}`] = rounded(middle(direct, 'serverUs'), 0)
    figures[`coordinator_us_of_${workers}`] = rounded(middle(direct, 'coordinatorUs'))
  }
  const ratios = stages.map((workers) => figures[`ratio_of_${workers}`]!)
  figures['ratio_spread'] = rounded(Math.max(...ratios) / Math.min(...ratios), 2)
  figures['coordinator_idle_ms_per_s'] = rounded(idleMs)
  figures['coordinator_us_per_record'] = rounded(recordUs)
  const moveMs = moves.flatMap(({ latencies }) => latencies).reduce((a, b) => Math.max(a, b), 0)
  figures['longest_ms_while_shards_moved'] = rounded(moveMs, 0)
  figures['errors'] = [...turns, ...moves].reduce((sum, { errors }) => sum + errors, 0)
  figures['load_average'] = rounded(loadAverage)
  const calibration = calibrate(turns, recordUs, moveMs)
  const tables = [measuredTable(turns, stages), curve(calibration)]
  return { name: 'cluster', figures, tables, targets: targets(figures, stages), calibration }
}

const of = (turns: readonly Turn[], route: Turn['route'], callers: number): readonly Turn[] =>
  turns.filter((turn) => turn.route === route && turn.callers === callers)

const middle = (turns: readonly Turn[], figure: keyof Omit<Turn, 'route'>): number =>
  median(turns.map((turn) => turn[figure]))

/** CPU of the workers to that of the single server; median of the rounds. */
function ratio(turns: readonly Turn[], callers: number): number {
  const plain = of(turns, 'plain', callers)
  return median(
    of(turns, 'direct', callers).map(
      ({ serverUs, round }) => serverUs / plain.find((each) => each.round === round)!.serverUs,
    ),
  )
}

function calibrate(turns: readonly Turn[], recordUs: number, moveMs: number): Calibration {
  const costs = (route: Turn['route']): BatchCosts => {
    const [small, large] = [CALLERS.fewest, CALLERS.most].map((callers) => {
      const some = of(turns, route, callers)
      const operations = middle(some, 'operationsPerBatch')
      return { operations, ms: (middle(some, 'serverUs') * operations) / 2_000 }
    })
    const { batchMs, operationMs } = costsOf(small!, large!)
    return { batchMs: rounded(batchMs, 3), operationMs: rounded(operationMs, 4) }
  }
  const atMost = (route: Turn['route'], figure: keyof Omit<Turn, 'route'>): number =>
    middle(of(turns, route, CALLERS.most), figure)
  return {
    plain: costs('plain'),
    worker: costs('direct'),
    operationsPerBatch: rounded(atMost('direct', 'operationsPerBatch')),
    coordinatorMsPerCall: rounded(atMost('coordinator', 'coordinatorUs') / 1_000, 4),
    recordMsPerCall: rounded(recordUs / 1_000, 4),
    moveMs: rounded(moveMs, 0),
    measured: CALLERS.between.flatMap((callers) => [
      measuredLoad('plain', of(turns, 'plain', callers)),
      measuredLoad('worker', of(turns, 'direct', callers)),
    ]),
  }
}

const measuredLoad = (server: Measured['server'], turns: readonly Turn[]): Measured => ({
  server,
  callers: turns[0]!.callers * SHARDS,
  shards: SHARDS,
  operationsPerBatch: rounded(middle(turns, 'operationsPerBatch')),
  callsPerSecond: rounded(middle(turns, 'callsPerSecond'), 0),
  serverMsPerCall: rounded(middle(turns, 'serverUs') / 1_000, 4),
  clientMsPerCall: rounded(middle(turns, 'clientUs') / 1_000, 4),
})

function measuredTable(turns: readonly Turn[], stages: readonly number[]): Table {
  const kinds = turns.filter((turn) => turn.workers === stages[0] && turn.round === 0)
  return {
    title: 'Calls (reserve and settle); medians of rounds in turns; CPU in µs per call',
    columns: ['batches', 'workers', 'per shard', 'in a batch', '/s', 'server', 'coordinator', 'us'],
    rows: stages.flatMap((workers) =>
      kinds.map(({ route, callers }) => {
        const some = of(turns, route, callers).filter((turn) => turn.workers === workers)
        const at = (figure: keyof Omit<Turn, 'route'>, decimals = 0) =>
          rounded(middle(some, figure), decimals)
        return [
          route === 'plain' ? 'one server' : route === 'direct' ? 'direct' : 'by coordinator',
          route === 'plain' ? '' : workers,
          callers,
          at('operationsPerBatch'),
          at('callsPerSecond'),
          at('serverUs'),
          at('coordinatorUs', 1),
          at('clientUs'),
        ]
      }),
    ),
  }
}

/**
 * Table of the calls per second to expect of several machines, with batches as measured. However
 * many there are, the shards limit them.
 */
function curve({ worker, operationsPerBatch, coordinatorMsPerCall }: Calibration): Table {
  const ms = msPerCall(worker, operationsPerBatch)
  const byShards = SHARDS_MAX * shardCallsMax(worker)
  const byCoordinator = AVAILABLE_MS / coordinatorMsPerCall
  return {
    title:
      `Expected calls per second of machines with ${CORES} cores at ${USED * 100} %, in batches ` +
      `of ${operationsPerBatch} operations. CPU: machines × ${AVAILABLE_MS} ms ÷ ` +
      `${rounded(ms, 4)} ms per call. Direct: at most ${rounded(byShards, 0)}, of ${SHARDS_MAX} ` +
      `shards. By coordinator: also at most ${AVAILABLE_MS} ms ÷ ${coordinatorMsPerCall} ms`,
    columns: ['machines', 'CPU', 'direct', 'by coordinator'],
    rows: MACHINES.map((machines) => {
      const byCpu = (machines * AVAILABLE_MS) / ms
      const direct = Math.min(byCpu, byShards)
      return [machines, ...[byCpu, direct, Math.min(direct, byCoordinator)].map(whole)]
    }),
  }
}

const whole = (value: number): number => rounded(value, 0)

function targets(
  figures: Readonly<Record<string, number>>,
  stages: readonly number[],
): readonly Target[] {
  return [
    ...stages.map((workers) =>
      atMost(
        `worker CPU to one server, workers: ${workers}`,
        figures[`ratio_of_${workers}`]!,
        GOALS.ratio,
      ),
    ),
    ...stages.map((workers) =>
      atMost(
        `coordinator CPU per call in µs, workers: ${workers}`,
        figures[`coordinator_us_of_${workers}`]!,
        GOALS.coordinatorUs,
      ),
    ),
    atMost('highest ratio to lowest', figures['ratio_spread']!, GOALS.spread),
    none('errors', figures['errors']!),
  ]
}
