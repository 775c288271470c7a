import { systemClock } from '../../../core/clock.ts'
import { createPool } from '../../../core/db/pool.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { createLog } from '../../../core/log.ts'
import type { CallRecord } from '../../../core/usage/call-records.ts'
import { CallLog } from '../../../core/usage/calls.ts'

const RECORDS = 10_000
const ROUNDS = 5

/** Returns the CPU time of the coordinator to store the record of a call, in microseconds. */
export async function measureRecords(url: string, readCpu: () => number): Promise<number> {
  const pool = createPool(url, { max: 2, role: 'hub_app', applicationName: 'bench' })
  const calls = new CallLog(pool, createLog('silent'))
  const before = readCpu()
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < RECORDS; i++) calls.add(newRecord(i))
    await calls.flush()
  }
  const us = ((readCpu() - before) * 1e6) / (RECORDS * ROUNDS)
  await pool.end()
  return us
}

function newRecord(i: number): CallRecord {
  const at = systemClock.now()
  const id = uuidv7(at.getTime())
  const hash = Buffer.alloc(32, i)
  return {
    id,
    at,
    requestId: `bench-${i}`,
    principal: `principal-${i % 1_000}`,
    keyId: `key-${i % 1_000}`,
    service: `service-${i % 100}`,
    endpoint: 1,
    priceVersion: 1,
    source: 'credits',
    charged: 1_000n,
    outcome: 'delivered',
    status: 200,
    latencyMs: 100,
    reason: null,
    requestHash: hash,
    responseHash: hash,
    entry: id,
    usage: null,
    agent: null,
  }
}
