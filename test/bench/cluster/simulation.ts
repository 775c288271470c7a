import { randomFrom } from '../../../plugins/analysis/train/random.ts'
import { EventQueue, Fifo, Station } from './event-queue.ts'

/** Times in milliseconds. */
export interface Costs {
  /** Time of a call on the thread of its hub. */
  readonly hubMs: number
  /** CPU time of a batch on its worker, besides that of its operations. */
  readonly batchMs: number
  readonly operationMs: number
  /** Time to write a batch to the disk of the worker and of its standby; uses no CPU. */
  readonly commitMs: number
}

/** Interruption of a worker, by a failover, or of one shard, by the end of its move. */
export interface Interruption {
  readonly worker?: number
  readonly shard?: number
  readonly atMs: number
  readonly forMs: number
}

export interface Scenario extends Costs {
  /** Arrivals at random times, or a number of callers that each call again at once. */
  readonly load: { readonly callsPerSecond: number } | { readonly callers: number }
  readonly hubs: number
  /** Hubs that send batches to one shard. @defaultValue all of them */
  readonly hubsPerShard?: number
  readonly shards: number
  readonly workers: number
  /** Cores of each worker. */
  readonly cores: number
  /** Mean time of the provider between reserve and settle. */
  readonly upstreamMs: number
  readonly interruptions?: readonly Interruption[]
  /** Time before the measurement. */
  readonly warmMs: number
  readonly ms: number
  readonly seed: number
}

/** Figures of the measured time. Waits are those in hubs and for the ledger, not for providers. */
export interface Simulated {
  readonly callsPerSecond: number
  readonly refused: number
  readonly meanMs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly longestMs: number
  /** Mean number of calls in hubs or waiting for the ledger. */
  readonly inFlight: number
  readonly operationsPerBatch: number
  /** Share of the time that the threads of hubs, the cores of workers and the shards are used. */
  readonly hubLoad: number
  readonly coreLoad: number
  readonly shardLoad: number
}

/** Limits of the hub's batches. */
const BATCH_MAX = 1_000
const RESERVE_WAIT_MS = 2_500

interface Call {
  /** When it began to wait for its reserve, or its settlement. */
  begunAt: number
  waitedMs: number
  isReserved: boolean
  readonly lane: Lane
}

interface Batch {
  readonly calls: readonly Call[]
  readonly lane: Lane
}

/** Queue of one hub for one shard; one batch is in flight at a time. */
interface Lane {
  readonly shard: Shard
  reserves: Call[]
  settles: Call[]
  isBusy: boolean
}

/** Shard whose head one batch locks at a time, until it is stored. */
interface Shard {
  readonly number: number
  readonly worker: number
  readonly waiting: Fifo<Batch>
  isBusy: boolean
  busyMs: number
  /** Time at which its interruption ends. The batch in flight at its start is lost and repeated. */
  downUntil: number
  downs: number
}

/** Discrete-event simulation of hubs, their batches and the workers of a ledger. Seeded. */
export function simulate(scenario: Scenario): Simulated {
  return new Simulation(scenario).run()
}

class Simulation {
  readonly #scenario: Scenario
  readonly #events = new EventQueue()
  readonly #random: () => number
  readonly #hubs: readonly Station[]
  readonly #workers: readonly Station[]
  readonly #shards: readonly Shard[]
  /** Lanes of each hub. */
  readonly #lanes: readonly (readonly Lane[])[]
  #inFlight = 0
  #changedAt = 0
  #totals = { waits: [] as number[], refused: 0, batches: 0, operations: 0, inFlightMs: 0 }

  constructor(scenario: Scenario) {
    const { hubs, shards, workers, cores, seed, hubsPerShard = hubs } = scenario
    this.#scenario = scenario
    this.#random = randomFrom(seed).share
    this.#hubs = Array.from({ length: hubs }, () => new Station(this.#events, 1))
    this.#workers = Array.from({ length: workers }, () => new Station(this.#events, cores))
    this.#shards = Array.from({ length: shards }, (_, number) => newShard(number, workers))
    const groups = Math.min(shards, Math.max(1, Math.round(hubs / hubsPerShard)))
    this.#lanes = this.#hubs.map((_, hub) =>
      this.#shards
        .filter(({ number }) => number % groups === hub % groups)
        .map((shard) => ({ shard, reserves: [], settles: [], isBusy: false })),
    )
  }

  run(): Simulated {
    const { load, interruptions = [], warmMs, ms } = this.#scenario
    if ('callers' in load) for (let i = 0; i < load.callers; i++) this.#begin()
    else this.#arrive(1_000 / load.callsPerSecond)
    for (const each of interruptions) this.#events.after(each.atMs, () => this.#interrupt(each))
    this.#events.runUntil(warmMs)
    this.#count(0)
    this.#totals = { waits: [], refused: 0, batches: 0, operations: 0, inFlightMs: 0 }
    const before = this.#usage()
    this.#events.runUntil(warmMs + ms)
    this.#count(0)
    const after = this.#usage()
    return this.#result(after.map((each, i) => each - before[i]!))
  }

  #arrive(everyMs: number): void {
    this.#events.after(-Math.log(1 - this.#random()) * everyMs, () => {
      this.#begin()
      this.#arrive(everyMs)
    })
  }

  #begin(): void {
    const hub = Math.floor(this.#random() * this.#hubs.length)
    const lanes = this.#lanes[hub]!
    const lane = lanes[Math.floor(this.#random() * lanes.length)]!
    const call = { begunAt: this.#events.now, waitedMs: 0, isReserved: false, lane }
    this.#count(1)
    this.#hubs[hub]!.serve(this.#scenario.hubMs, () => {
      lane.reserves.push(call)
      this.#pump(lane)
    })
  }

  /** Sends the next batch of a lane, without reserves that have waited too long. */
  #pump(lane: Lane): void {
    if (lane.isBusy) return
    const settles = lane.settles.splice(0, BATCH_MAX)
    const reserves = lane.reserves.splice(0, BATCH_MAX - settles.length)
    const timely = reserves.filter((call) => this.#isTimely(call))
    for (let i = timely.length; i < reserves.length; i++) this.#refuse()
    if (settles.length + timely.length === 0) return
    lane.isBusy = true
    lane.shard.waiting.push({ calls: [...settles, ...timely], lane })
    this.#post(lane.shard)
  }

  #isTimely({ begunAt }: Call): boolean {
    return this.#events.now - begunAt < RESERVE_WAIT_MS
  }

  #refuse(): void {
    this.#totals.refused++
    this.#end()
  }

  /** Posts the next batch of a shard, unless it is posting one or is interrupted. */
  #post(shard: Shard): void {
    if (shard.isBusy || shard.downUntil > this.#events.now) return
    const batch = shard.waiting.shift()
    if (batch === undefined) return
    shard.isBusy = true
    const begunAt = this.#events.now
    const { downs } = shard
    const { batchMs, operationMs, commitMs } = this.#scenario
    this.#workers[shard.worker]!.serve(batchMs + operationMs * batch.calls.length, () =>
      this.#events.after(commitMs, () => {
        shard.isBusy = false
        shard.busyMs += this.#events.now - begunAt
        if (shard.downs === downs) this.#finish(batch)
        else shard.waiting.push(batch)
        this.#post(shard)
      }),
    )
  }

  #finish({ calls, lane }: Batch): void {
    this.#totals.batches++
    this.#totals.operations += calls.length
    lane.isBusy = false
    for (const call of calls) this.#advance(call)
    this.#pump(lane)
  }

  /** Sends a call that is reserved to its provider, and ends one that is settled. */
  #advance(call: Call): void {
    const { now } = this.#events
    if (!call.isReserved && !this.#isTimely(call)) return this.#refuse()
    call.waitedMs += now - call.begunAt
    if (call.isReserved) {
      this.#totals.waits.push(call.waitedMs)
      return this.#end()
    }
    call.isReserved = true
    this.#count(-1)
    const upstreamMs = -Math.log(1 - this.#random()) * this.#scenario.upstreamMs
    this.#events.after(upstreamMs, () => {
      this.#count(1)
      call.begunAt = this.#events.now
      call.lane.settles.push(call)
      this.#pump(call.lane)
    })
  }

  #end(): void {
    this.#count(-1)
    if ('callers' in this.#scenario.load) this.#begin()
  }

  #interrupt({ worker, shard, forMs }: Interruption): void {
    for (const each of this.#shards) {
      if (each.worker !== worker && each.number !== shard) continue
      each.downs++
      each.downUntil = this.#events.now + forMs
      this.#events.after(forMs, () => this.#post(each))
    }
  }

  /** Changes the number of calls in flight, and adds up its integral over time. */
  #count(change: number): void {
    const { now } = this.#events
    this.#totals.inFlightMs += this.#inFlight * (now - this.#changedAt)
    this.#changedAt = now
    this.#inFlight += change
  }

  #usage(): number[] {
    const sum = (list: readonly number[]) => list.reduce((total, each) => total + each, 0)
    const hubs = sum(this.#hubs.map(({ workMs }) => workMs)) / this.#hubs.length
    const cores = sum(this.#workers.map(({ workMs }) => workMs)) / this.#workers.length
    const shards = sum(this.#shards.map(({ busyMs }) => busyMs)) / this.#shards.length
    return [hubs, cores / this.#scenario.cores, shards]
  }

  #result(used: readonly number[]): Simulated {
    const { ms } = this.#scenario
    const { refused, batches, operations, inFlightMs } = this.#totals
    const waits = Float64Array.from(this.#totals.waits).sort()
    const at = (share: number) => waits[Math.floor(waits.length * share)] ?? 0
    const [hubLoad, coreLoad, shardLoad] = used.map((each) => each / ms)
    return {
      callsPerSecond: (waits.length * 1_000) / ms,
      refused,
      meanMs: waits.reduce((sum, each) => sum + each, 0) / Math.max(1, waits.length),
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      longestMs: waits.at(-1) ?? 0,
      inFlight: inFlightMs / ms,
      operationsPerBatch: operations / Math.max(1, batches),
      hubLoad: hubLoad!,
      coreLoad: coreLoad!,
      shardLoad: shardLoad!,
    }
  }
}

const newShard = (number: number, workers: number): Shard => ({
  number,
  worker: number % workers,
  waiting: new Fifo<Batch>(),
  isBusy: false,
  busyMs: 0,
  downUntil: 0,
  downs: 0,
})
