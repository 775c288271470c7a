import { rmSync } from 'node:fs'
import { loadavg } from 'node:os'
import { elapsedMs, sleep } from '../../core/clock.ts'
import { ShardConnections } from '../../core/db/citus/shard-connections.ts'
import { createPool } from '../../core/db/pool.ts'
import { hasCitus, NO_CITUS } from '../support/citus.ts'
import { measureRecords } from './cluster/call-records.ts'
import { CALLERS, clusterReport, SHARDS, type Turn } from './cluster/report.ts'
import { type BenchServers, startServers } from './cluster/servers.ts'
import { newFolder } from './folder.ts'
import { type Once, ourCalls } from './ledger/calls.ts'
import { type Sample, sample } from './load.ts'
import type { Report } from './report.ts'

const STAGES = [1, 2, 4] as const
const ROUNDS = 3
const SECONDS = 1.5
const SECONDS_OF_ONE = 3
/** Warm-up: all connections plan the functions of all shards, which takes 30 ms each. */
const WARM_SECONDS = 1
const WARM_CALLERS = 32
/** After this time, each number of workers is measured once. */
const ENOUGH_MS = 240_000
const IDLE_MS = 3_000
/** Concurrent calls while shards move. */
const MOVE_CALLERS = 32

type Cell = Pick<Turn, 'route' | 'callers'>

/** Compared loads are adjacent, so that they are measured under the same conditions. */
const CELLS: readonly Cell[] = [
  ...[CALLERS.fewest, ...CALLERS.between, CALLERS.most].flatMap((callers): Cell[] => [
    { route: 'plain', callers },
    { route: 'direct', callers },
  ]),
  { route: 'coordinator', callers: CALLERS.most },
]

interface Connections extends AsyncDisposable {
  readonly once: Once
}

/**
 * CPU time of calls (reserve and settle, both durable) on the workers and the coordinator of a
 * Citus cluster, whose batches go straight to the workers or by way of the coordinator, compared
 * in turns with one PostgreSQL of the same version.
 */
export async function cluster(): Promise<Report> {
  if (!(await hasCitus())) {
    console.error(`skipped: ${NO_CITUS}`)
    return { name: 'cluster', figures: {}, targets: [] }
  }
  const folder = newFolder()
  const scope = new AsyncDisposableStack()
  scope.defer(() => rmSync(folder, { recursive: true, force: true }))
  const start = elapsedMs()
  try {
    const workers = STAGES.at(-1)!
    const servers = await startServers(folder, { workers, shards: SHARDS }, scope)
    const turns: Turn[] = []
    const moves: Sample[] = []
    for (const count of STAGES) {
      moves.push(...(await callWhile(servers, () => servers.useWorkers(count))))
      for (let round = 0; round < ROUNDS; round++) {
        if (round > 0 && elapsedMs() - start > ENOUGH_MS) break
        const order = round % 2 === 0 ? CELLS : CELLS.toReversed()
        for (const cell of order) turns.push(await measure(servers, cell, count, round))
      }
    }
    const { url, readCpu } = servers.citus
    return clusterReport(turns, {
      idleMs: await measureIdle(readCpu),
      recordUs: await measureRecords(url, readCpu),
      moves,
      loadAverage: loadavg()[0]!,
    })
  } finally {
    await scope.disposeAsync()
  }
}

/** Connects to the ledger of one of the two sides. @param onBatch is given the size of each */
async function connect(
  { plain, citus }: BenchServers,
  route: Turn['route'],
  onBatch: (operations: number) => void = () => {},
): Promise<Connections> {
  const connections = { max: 2 * SHARDS, role: 'hub_finance', applicationName: 'bench' }
  const pool = createPool((route === 'plain' ? plain : citus).url, connections)
  const direct = route === 'direct' ? new ShardConnections(pool, connections) : undefined
  return {
    once: await ourCalls(pool, 'uniform', {
      databaseOf: direct && ((shard) => direct.databaseOf(shard)),
      onBatch,
    }),
    async [Symbol.asyncDispose]() {
      await direct?.close()
      await pool.end()
    },
  }
}

/** Measures calls on one of the two ledgers: CPU time of its servers, and of this process. */
async function measure(
  servers: BenchServers,
  { route, callers }: Cell,
  workers: number,
  round: number,
): Promise<Turn> {
  const { plain, citus } = servers
  let batches = 0
  let operations = 0
  const read = () => ({
    server: route === 'plain' ? plain.readCpu() : citus.workers.reduce((s, cpu) => s + cpu(), 0),
    coordinator: route === 'plain' ? 0 : citus.readCpu(),
    client: process.cpuUsage().user + process.cpuUsage().system,
  })
  await using connections = await connect(servers, route, (size) => {
    batches++
    operations += size
  })
  const { once } = connections
  await sample(WARM_CALLERS * SHARDS, WARM_SECONDS, once)
  const before = read()
  batches = 0
  operations = 0
  const { calls, errors, firstError, seconds } = await sample(
    callers * SHARDS,
    callers === CALLERS.fewest ? SECONDS_OF_ONE : SECONDS,
    once,
  )
  const after = read()
  if (firstError !== undefined) console.error(firstError)
  return {
    route,
    callers,
    workers,
    round,
    errors,
    callsPerSecond: calls / seconds,
    operationsPerBatch: operations / batches,
    serverUs: ((after.server - before.server) * 1e6) / calls,
    coordinatorUs: ((after.coordinator - before.coordinator) * 1e6) / calls,
    clientUs: (after.client - before.client) / calls,
  }
}

/** Calls the cluster straight while `work` runs. */
async function callWhile(servers: BenchServers, work: () => Promise<void>): Promise<Sample[]> {
  await using connections = await connect(servers, 'direct')
  await sample(MOVE_CALLERS, WARM_SECONDS, connections.once)
  const samples: Sample[] = []
  const done = new AbortController()
  const call = async (): Promise<void> => {
    while (!done.signal.aborted) samples.push(await sample(MOVE_CALLERS, 1, connections.once))
  }
  await Promise.all([work().finally(() => done.abort()), call()])
  return samples
}

/** Returns the CPU time of the coordinator without calls, in milliseconds per second. */
async function measureIdle(readCpu: () => number): Promise<number> {
  const before = readCpu()
  await sleep(IDLE_MS)
  return ((readCpu() - before) * 1e6) / IDLE_MS
}
