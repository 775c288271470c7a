import { expect } from 'chai'
import { randomFrom } from '../../../plugins/analysis/train/random.ts'
import { CALIBRATION, costsOf } from '../../bench/cluster/calibration.ts'
import { EventQueue, Station } from '../../bench/cluster/event-queue.ts'
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

  it('has the times of M/M/1 in a station, their mean and their 99th percentile', () => {
    const events = new EventQueue()
    const station = new Station(events, 1)
    const random = randomFrom(3).share
    const exponential = (mean: number) => -Math.log(1 - random()) * mean
    const times: number[] = []
    const arrive = (): void => {
      const begunAt = events.now
      station.serve(exponential(1), () => times.push(events.now - begunAt))
      events.after(exponential(1 / 0.7), arrive)
    }
    arrive()
    events.runUntil(200_000)
    const mean = times.reduce((sum, each) => sum + each, 0) / times.length
    const p99 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)]!
    const expected = 1 / (1 - 0.7)
    expect(mean).to.be.closeTo(expected, 0.05 * expected)
    expect(p99).to.be.closeTo(Math.log(100) * expected, 0.1 * Math.log(100) * expected)
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

  it('posts as much as full batches allow where more arrives, and refuses the rest', () => {
    const { batchMs, operationMs, commitMs } = LOADED
    const most = (1_000 * 1_000) / (batchMs + 1_000 * operationMs + commitMs)
    const { callsPerSecond, refused, shardLoad, operationsPerBatch } = simulate({
      ...LOADED,
      load: { callsPerSecond: 14_000 },
      hubs: 8,
      shards: 1,
      warmMs: 8_000,
    })
    expect(shardLoad).to.be.closeTo(1, 0.01)
    expect(operationsPerBatch).to.be.closeTo(1_000, 20)
    expect(2 * callsPerSecond).to.be.within(0.9 * most, most)
    expect(refused).to.be.above(0)
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

  it('takes the CPU that one server was measured to take, which served no more', () => {
    expect(CALIBRATION.measured).to.have.length(2)
    for (const measured of CALIBRATION.measured) {
      const { batchMs, operationMs } = CALIBRATION.plain
      const { callers, shards, serverMsPerCall, clientMsPerCall } = measured
      const { callsPerSecond, operationsPerBatch, coreLoad } = simulate({
        ...CALIBRATION.plain,
        load: { callers },
        hubs: 1,
        hubMs: clientMsPerCall,
        shards,
        workers: 1,
        cores: 1, // the other one is the client's
        commitMs: 0,
        upstreamMs: 0,
        warmMs: 500,
        ms: 2_000,
        seed: 1,
      })
      const cpu = 2 * (batchMs / operationsPerBatch + operationMs)
      expect(cpu).to.be.closeTo(serverMsPerCall, 0.25 * serverMsPerCall)
      expect((coreLoad * 1_000) / callsPerSecond).to.be.closeTo(cpu, 0.02 * cpu)
      expect(measured.callsPerSecond).to.be.below(1.2 * callsPerSecond) // others ran beside it
    }
  })

  it('derives the costs of batches from two sizes', () => {
    const costs = costsOf({ operations: 2, ms: 1.7 }, { operations: 102, ms: 6.7 })
    expect(costs.operationMs).to.be.closeTo(0.05, 1e-9)
    expect(costs.batchMs).to.be.closeTo(1.6, 1e-9)
  })
})
