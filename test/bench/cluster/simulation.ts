import { TICK_MS } from '../../../core/ledger/batch.ts'
import { randomFrom } from '../../../plugins/analysis/train/random.ts'
import { type LoadResult, summary } from '../load.ts'
import { EventQueue, Fifo, Station, TimeIntegral } from './event-queue.ts'
import { type Call, Lane } from './lane.ts'

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

/** Failover of a worker, which loses its batches in flight, or the end of the move of a shard. */
export type Interruption = ({ readonly worker: number } | { readonly shard: number }) & {
  readonly atMs: number
  readonly forMs: number
}

export interface Scenario extends Costs {
  /** Arrivals at random times until `untilMs`, or callers that each call again at once. */
  readonly load:
    | { readonly callsPerSecond: number; readonly untilMs?: number }
    | { readonly callers: number }
  readonly hubs: number
  /** Groups of hubs, each of which sends to its share of the shards. @defaultValue 1 */
  readonly groups?: number
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
export interface Simulated extends Omit<LoadResult, 'perSecond'> {
  readonly callsPerSecond: number
  /** Calls that began, were settled and were refused. */
  readonly begun: number
  readonly settled: number
  readonly refused: number
  readonly meanMs: number
  readonly longestMs: number
  /** Mean number of calls in hubs or waiting for the ledger. */
  readonly inFlight: number
  readonly operationsPerBatch: number
  /** Share of the time that the threads of hubs, the cores of workers and the shards are used. */
  readonly hubLoad: number
  readonly coreLoad: number
  readonly shardLoad: number
}

interface Batch {
  readonly calls: readonly Call[]
  readonly lane: Lane<Shard>
}

/** Shard whose head one batch locks at a time, until it is stored. */
interface Shard {
  readonly number: number
  readonly worker: number
  readonly waiting: Fifo<Batch>
  /** One while a batch is in flight. */
  readonly busy: TimeIntegral
  /** Time at which its interruption ends. */
  downUntil: number
  /** Failovers of its worker. The batch in flight at the start of one is lost and repeated. */
  failovers: number
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
  readonly #lanes: readonly (readonly Lane<Shard>[])[]
  readonly #inFlight: TimeIntegral
  #waits: number[] = []
  #counts = { begun: 0, refused: 0, batches: 0, operations: 0 }

  constructor(scenario: Scenario) {
    const { hubs, groups = 1, shards, workers, cores, seed } = scenario
    const events = this.#events
    this.#scenario = scenario
    this.#random = randomFrom(seed).share
    this.#hubs = Array.from({ length: hubs }, () => new Station(events, 1))
    this.#workers = Array.from({ length: workers }, () => new Station(events, cores))
    this.#shards = Array.from({ length: shards }, (_, number) => ({
      number,
      worker: number % workers,
      waiting: new Fifo<Batch>(),
      busy: new TimeIntegral(events),
      downUntil: 0,
      failovers: 0,
    }))
    this.#lanes = this.#hubs.map((_, hub) =>
      this.#shards
        .filter(({ number }) => number % groups === hub % groups)
        .map((shard) => new Lane(shard)),
    )
    this.#inFlight = new TimeIntegral(events)
  }

  run(): Simulated {
    const { load, interruptions = [], warmMs, ms } = this.#scenario
    for (const lane of this.#lanes.flat()) this.#tick(lane, this.#random() * TICK_MS)
    if ('callers' in load) for (let i = 0; i < load.callers; i++) this.#begin()
    else this.#arrive(1_000 / load.callsPerSecond, load.untilMs)
    for (const each of interruptions) this.#events.after(each.atMs, () => this.#interrupt(each))
    this.#events.runUntil(warmMs)
    this.#waits = []
    this.#counts = { begun: 0, refused: 0, batches: 0, operations: 0 }
    const before = this.#usage()
    this.#events.runUntil(warmMs + ms)
    const after = this.#usage()
    return this.#result(after.map((each, i) => (each - before[i]!) / ms))
  }

  #arrive(everyMs: number, untilMs = Number.POSITIVE_INFINITY): void {
    this.#events.after(this.#exponential(everyMs), () => {
      if (this.#events.now > untilMs) return
      this.#begin()
      this.#arrive(everyMs, untilMs)
    })
  }

  #exponential(mean: number): number {
    return -Math.log(1 - this.#random()) * mean
  }

  #begin(): void {
    const hub = Math.floor(this.#random() * this.#hubs.length)
    const lanes = this.#lanes[hub]!
    const lane = lanes[Math.floor(this.#random() * lanes.length)]!
    const call: Call = { step: 'reserve', begunAt: this.#events.now, waitedMs: 0, ticks: 0 }
    this.#counts.begun++
    this.#inFlight.add(1)
    this.#hubs[hub]!.serve(this.#scenario.hubMs, () => {
      if (!lane.push(call)) this.#refuse()
      this.#pump(lane)
    })
  }

  /** Refuses the reserves of a lane that have waited too long, at every check. */
  #tick(lane: Lane<Shard>, afterMs = TICK_MS): void {
    this.#events.after(afterMs, () => {
      for (let i = lane.tick().length; i > 0; i--) this.#refuse()
      this.#tick(lane)
    })
  }

  #refuse(): void {
    this.#counts.refused++
    this.#end()
  }

  /** Sends the next batch of a lane, unless one is in flight. */
  #pump(lane: Lane<Shard>): void {
    if (lane.isBusy) return
    const calls = lane.take()
    if (calls.length === 0) return
    lane.isBusy = true
    lane.shard.waiting.push({ calls, lane })
    this.#post(lane.shard)
  }

  /** Posts the next batch of a shard, unless it is posting one or is interrupted. */
  #post(shard: Shard): void {
    if (shard.busy.value > 0 || shard.downUntil > this.#events.now) return
    const batch = shard.waiting.shift()
    if (batch === undefined) return
    shard.busy.add(1)
    const { failovers } = shard
    const { batchMs, operationMs, commitMs } = this.#scenario
    this.#workers[shard.worker]!.serve(batchMs + operationMs * batch.calls.length, () =>
      this.#events.after(commitMs, () => {
        shard.busy.add(-1)
        if (shard.failovers === failovers) this.#finish(batch)
        else shard.waiting.push(batch)
        this.#post(shard)
      }),
    )
  }

  #finish({ calls, lane }: Batch): void {
    this.#counts.batches++
    this.#counts.operations += calls.length
    lane.isBusy = false
    for (const call of calls) {
      if (lane.finish(call) && call.step !== 'release') this.#advance(call, lane)
    }
    this.#pump(lane)
  }

  /** Sends a call that is reserved to its provider, and ends one that is settled. */
  #advance(call: Call, lane: Lane<Shard>): void {
    call.waitedMs += this.#events.now - call.begunAt
    if (call.step === 'settle') {
      this.#waits.push(call.waitedMs)
      this.#end()
      return
    }
    this.#inFlight.add(-1)
    this.#events.after(this.#exponential(this.#scenario.upstreamMs), () => {
      this.#inFlight.add(1)
      call.step = 'settle'
      call.begunAt = this.#events.now
      lane.push(call)
      this.#pump(lane)
    })
  }

  #end(): void {
    this.#inFlight.add(-1)
    if ('callers' in this.#scenario.load) this.#begin()
  }

  #interrupt(interruption: Interruption): void {
    const downUntil = this.#events.now + interruption.forMs
    const isFailover = 'worker' in interruption
    for (const shard of this.#shards) {
      const isConcerned = isFailover
        ? shard.worker === interruption.worker
        : shard.number === interruption.shard
      if (!isConcerned) continue
      if (isFailover) shard.failovers++
      shard.downUntil = Math.max(shard.downUntil, downUntil)
      this.#events.after(interruption.forMs, () => this.#post(shard))
    }
  }

  /** Use of a hub, a core and a shard, and calls in flight, each times its milliseconds. */
  #usage(): number[] {
    const mean = (list: readonly number[]) => list.reduce((sum, each) => sum + each) / list.length
    return [
      mean(this.#hubs.map(({ workMs }) => workMs)),
      mean(this.#workers.map(({ workMs }) => workMs)) / this.#scenario.cores,
      mean(this.#shards.map(({ busy }) => busy.total)),
      this.#inFlight.total,
    ]
  }

  #result([hubLoad, coreLoad, shardLoad, inFlight]: readonly number[]): Simulated {
    const { batches, operations, ...counts } = this.#counts
    const waits = this.#waits
    const calls = waits.length
    const sample = { latencies: waits, calls, errors: 0, seconds: this.#scenario.ms / 1_000 }
    const { perSecond, ...percentiles } = summary([sample])
    return {
      ...percentiles,
      ...counts,
      callsPerSecond: perSecond,
      settled: calls,
      meanMs: waits.reduce((sum, each) => sum + each, 0) / Math.max(1, calls),
      longestMs: waits.reduce((most, each) => Math.max(most, each), 0),
      inFlight: inFlight!,
      operationsPerBatch: operations / Math.max(1, batches),
      hubLoad: hubLoad!,
      coreLoad: coreLoad!,
      shardLoad: shardLoad!,
    }
  }
}
