import { expect } from 'chai'
import { ConfigError, readConfig } from '../../../core/config.ts'
import { BATCH_MAX, QUEUE_MAX, RESERVE_TICKS } from '../../../core/ledger/batch.ts'
import { randomFrom } from '../../../plugins/analysis/train/random.ts'
import { SHARDS_MAX } from '../../bench/cluster/assumptions.ts'
import { CALIBRATION, costsOf } from '../../bench/cluster/calibration.ts'
import { EventQueue, Station } from '../../bench/cluster/event-queue.ts'
import { type Call, Lane } from '../../bench/cluster/lane.ts'
import { type Scenario, simulate } from '../../bench/cluster/simulation.ts'

/** A ledger that costs nothing, behind one hub. */
const FREE: Scenario = {
  load: { callsPerSecond: 800 },
  hubs: 1,
  shards: 1,
  workers: 1,
  cores: 1_000,
  hubMs: 1,
  batchMs: 0,
  operationMs: 0,
  commitMs: 0,
  upstreamMs: 10,
  warmMs: 5_000,
  ms: 120_000,
  seed: 7,
}

/** A ledger under load, behind several hubs. */
const LOADED: Scenario = {
  ...FREE,
  load: { callsPerSecond: 6_000 },
  hubs: 4,
  hubMs: 0.25,
  shards: 4,
  workers: 2,
  cores: 2,
  batchMs: 1.5,
  operationMs: 0.04,
  commitMs: 1,
  warmMs: 2_000,
  ms: 10_000,
}

describe('the simulation of a cluster', () => {
  it('has the waiting times of M/D/1 in hubs', () => {
    const load = 0.8
    const { meanMs, callsPerSecond, hubLoad } = simulate(FREE)
    const expected = 1 + load / (2 * (1 - load)) // service, and the formula of Pollaczek–Khinchine
    expect(callsPerSecond).to.be.closeTo(800, 8)
    expect(hubLoad).to.be.closeTo(load, 0.01)
    expect(meanMs).to.be.closeTo(expected, 0.05 * expected)
  })

  it('begins each job as soon as a server of its station is free, in the order of arrival', () => {
    for (const servers of [1, 3]) {
      const events = new EventQueue()
      const station = new Station(events, servers)
      const random = randomFrom(3).share
      const ends: number[] = []
      const expected: number[] = []
      const freeAt = Array.from({ length: servers }, () => 0)
      let arrivesAt = 0
      let work = 0
      for (let job = 0; job < 5_000; job++) {
        arrivesAt += random()
        const ms = random() * 1.9 * servers * 0.5
        work += ms
        events.after(arrivesAt, () => station.serve(ms, () => ends.push(events.now)))
        const first = freeAt.indexOf(Math.min(...freeAt))
        freeAt[first] = Math.max(arrivesAt, freeAt[first]!) + ms
        expected.push(freeAt[first])
      }
      events.runUntil(10_000)
      const sorted = expected.toSorted((a, b) => a - b)
      const wrong = sorted.findIndex((end, n) => Math.abs(end - ends[n]!) > 1e-6)
      expect([ends.length, wrong], `${servers} servers`).to.deep.equal([5_000, -1])
      expect(station.workMs).to.be.closeTo(work, 1e-6)
    }
  })

  it('runs events in the order of their times', () => {
    const events = new EventQueue()
    const random = randomFrom(5).share
    const times: number[] = []
    const add = (depth: number): void =>
      events.after(random() * 10, () => {
        times.push(events.now)
        if (depth > 0) for (let i = 0; i < 3; i++) add(depth - 1)
      })
    for (let i = 0; i < 100; i++) add(3)
    events.runUntil(1_000)
    expect(times).to.have.length(100 * (1 + 3 + 9 + 27))
    expect(times).to.deep.equal(times.toSorted((a, b) => a - b))
  })

  it("obeys Little's law, with batches, moves and failovers too", () => {
    const interruptions = [
      { worker: 0, atMs: 3_000, forMs: 500 },
      { shard: 1, atMs: 5_000, forMs: 700 },
    ]
    for (const scenario of [LOADED, { ...LOADED, interruptions }]) {
      const { inFlight, callsPerSecond, meanMs, refused } = simulate(scenario)
      const expected = (callsPerSecond * meanMs) / 1_000
      expect(refused).to.equal(0)
      expect(inFlight).to.be.closeTo(expected, 0.02 * expected)
    }
  })

  it('keeps the part that limits it busy, and uses none for longer than there is time', () => {
    const { batchMs, operationMs, commitMs } = LOADED
    const fullMs = batchMs + BATCH_MAX * operationMs
    const limits = [
      ['hubLoad', { callers: 2_000 }, { hubs: 2, hubMs: 1 }, 2_000],
      ['coreLoad', { callers: 40_000 }, { shards: 8, workers: 1 }, (2 * 500_000) / fullMs],
      ['shardLoad', { callers: 8_000 }, { shards: 1, workers: 1 }, 500_000 / (fullMs + commitMs)],
    ] as const
    for (const [part, load, changes, most] of limits) {
      const simulated = simulate({ ...LOADED, ms: 3_000, hubMs: 0.01, ...changes, load })
      const { hubLoad, coreLoad, shardLoad, callsPerSecond } = simulated
      expect(Math.max(hubLoad, coreLoad, shardLoad), part).to.be.at.most(1 + 1e-9)
      expect(simulated[part], part).to.be.above(0.99)
      expect(callsPerSecond, part).to.be.within(0.95 * most, 1.01 * most)
    }
  })

  it('ends every call, by its settlement or a refusal, whatever interrupts it', () => {
    const ended = {
      ...LOADED,
      warmMs: 0,
      ms: 30_000,
      load: { callsPerSecond: 6_000, untilMs: 9_000 },
    }
    const failover = { worker: 0, atMs: 3_000, forMs: 6_000 }
    const scenarios: readonly Scenario[] = [
      ended,
      { ...ended, interruptions: [failover] },
      { ...ended, interruptions: [failover, { shard: 0, atMs: 4_000, forMs: 500 }] },
      {
        ...ended,
        interruptions: [1, 2, 3].map((s) => ({ worker: 1, atMs: s * 1_000, forMs: 300 })),
      },
      { ...ended, shards: 1, workers: 1, load: { callsPerSecond: 20_000, untilMs: 9_000 } },
      { ...ended, groups: 2 },
    ]
    const results = scenarios.map(simulate)
    for (const { begun, settled, refused, inFlight, callsPerSecond, meanMs } of results) {
      expect(begun).to.be.above(50_000)
      expect(settled + refused).to.equal(begun)
      if (refused === 0) expect(inFlight).to.be.closeTo((callsPerSecond * meanMs) / 1_000, 1e-6)
    }
    expect(results.map(({ refused }) => refused > 0)).to.deep.equal([
      false,
      true,
      true,
      false,
      true,
      false,
    ])
  })

  it('refuses reserves that waited too long for a failover, and loses no settlement', () => {
    const interruptions = [{ worker: 0, atMs: 3_000, forMs: 6_000 }]
    const { refused, longestMs, callsPerSecond } = simulate({ ...LOADED, interruptions })
    const arrived = 6_000 * 10
    expect(refused).to.be.within(0.5 * 3_000 * 3.5, 3_000 * 6)
    expect(longestMs).to.be.within(6_000, 7_000)
    expect(callsPerSecond * 10 + refused).to.be.closeTo(arrived, 0.02 * arrived)
  })

  it('gives the same figures for the same seed only', () => {
    const brief = { ...LOADED, ms: 1_000 }
    expect(simulate(brief)).to.deep.equal(simulate(brief))
    expect(simulate({ ...brief, seed: 8 })).not.to.deep.equal(simulate(brief))
  })

  it('takes the CPU that servers were measured to take, which served no more', () => {
    expect(CALIBRATION.measured).to.have.length(4)
    const cores = 2 // of the machine, which the client shares
    for (const measured of CALIBRATION.measured) {
      const { batchMs, operationMs } = CALIBRATION[measured.server]
      const { callers, shards, serverMsPerCall, clientMsPerCall } = measured
      const { callsPerSecond, operationsPerBatch, coreLoad } = simulate({
        batchMs,
        operationMs,
        load: { callers },
        hubs: 1,
        hubMs: clientMsPerCall,
        shards,
        workers: 1,
        cores,
        commitMs: 0,
        upstreamMs: 0,
        warmMs: 500,
        ms: 2_000,
        seed: 1,
      })
      const cpu = 2 * (batchMs / operationsPerBatch + operationMs)
      expect(cpu).to.be.closeTo(serverMsPerCall, 0.25 * serverMsPerCall)
      expect((coreLoad * cores * 1_000) / callsPerSecond).to.be.closeTo(cpu, 0.02 * cpu)
      expect(measured.callsPerSecond).to.be.below(callsPerSecond)
      const usedMs = measured.callsPerSecond * (serverMsPerCall + clientMsPerCall)
      expect(usedMs, 'of both').to.be.below(cores * 1_000)
    }
  })

  it('assumes no more shards than HUB_SHARDS accepts', () => {
    expect(readConfig({ HUB_SHARDS: `${SHARDS_MAX}` }).shards).to.equal(SHARDS_MAX)
    expect(() => readConfig({ HUB_SHARDS: `${SHARDS_MAX + 1}` })).to.throw(ConfigError)
  })

  it('derives the costs of batches from two sizes', () => {
    const costs = costsOf({ operations: 2, ms: 1.7 }, { operations: 102, ms: 6.7 })
    expect(costs.operationMs).to.be.closeTo(0.05, 1e-9)
    expect(costs.batchMs).to.be.closeTo(1.6, 1e-9)
  })
})

describe('the model of the queue of a hub for a shard', () => {
  const newCall = (step: Call['step'] = 'reserve'): Call => ({
    step,
    begunAt: 0,
    waitedMs: 0,
    ticks: 0,
  })
  const tickUntilLate = (lane: Lane<number>): readonly Call[] =>
    Array.from({ length: RESERVE_TICKS }, () => lane.tick()).flat()

  it('takes steps in the order of arrival', () => {
    const lane = new Lane(0)
    const calls = [newCall(), newCall('settle'), newCall(), newCall('release')]
    for (const call of calls) lane.push(call)
    expect(lane.take()).to.have.ordered.members(calls)
    expect(lane.take()).to.deep.equal([])
  })

  it('takes what waits behind more than a batch of late reserves', () => {
    const lane = new Lane(0)
    for (let i = 0; i <= BATCH_MAX; i++) lane.push(newCall())
    expect(tickUntilLate(lane)).to.have.length(BATCH_MAX + 1)
    const timely = newCall()
    lane.push(timely)
    expect(lane.take()).to.have.ordered.members([timely])
  })

  it('releases a reserve that was refused while it was stored, and refuses it once', () => {
    const lane = new Lane(0)
    const call = newCall()
    lane.push(call)
    lane.take()
    expect(tickUntilLate(lane)).to.deep.equal([call])
    expect(tickUntilLate(lane)).to.deep.equal([])
    expect(lane.finish(call)).to.equal(false)
    expect(lane.take()).to.deep.equal([call])
    expect([call.step, lane.finish(call)]).to.deep.equal(['release', true])
    expect(lane.take()).to.deep.equal([])
  })

  it('refuses reserves, not settlements, where it is full', () => {
    const lane = new Lane(0)
    for (let i = 0; i < QUEUE_MAX; i++) expect(lane.push(newCall())).to.equal(true)
    expect(lane.push(newCall())).to.equal(false)
    expect(lane.push(newCall('settle'))).to.equal(true)
  })
})
