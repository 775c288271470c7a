import type { Pool } from 'pg'
import { createPool } from '../../../core/db/pool.ts'
import { type Sample, sample } from '../load.ts'
import { type Accounts, inserts, naiveCalls, type Once, ourCalls } from './calls.ts'

/** Job of a benchmark process. */
export interface Job {
  /** Load: our ledger, without batching, the naive ledger, inserts of one row or of a hundred. */
  readonly what: 'batch' | 'single' | 'naive' | 'insert' | 'insert 100'
  readonly accounts: Accounts
  readonly concurrency: number
  readonly connections: number
  readonly seconds: number
}

const SHARDS = 2
const LANES_OF_HUB = 1
const WARM_SECONDS = 0.3
const WARM_LOOPS = 64

async function prepare(job: Job, pool: Pool): Promise<Once> {
  if (job.what === 'naive') return naiveCalls(pool, job.accounts)
  if (job.what === 'insert') return inserts(pool, 1)
  if (job.what === 'insert 100') return inserts(pool, 100)
  if (job.what === 'batch') return ourCalls(pool, job.accounts, { concurrency: LANES_OF_HUB })
  return ourCalls(pool, job.accounts, { concurrency: job.connections / SHARDS, batchMax: 1 })
}

const url = process.argv[2]!

async function run(job: Job): Promise<Sample> {
  const ours = job.what === 'batch' || job.what === 'single'
  const role = ours ? { role: 'hub_finance' } : {}
  const pool = createPool(url, { max: job.connections, applicationName: 'bench', ...role })
  try {
    const once = await prepare(job, pool)
    // Warm-up: connections, query plans and compiled code exist before the clock starts.
    await sample(Math.min(job.concurrency, WARM_LOOPS), WARM_SECONDS, once)
    return await sample(job.concurrency, job.seconds, once)
  } finally {
    await pool.end()
  }
}

process.on('message', (job: Job) => {
  void run(job).then((taken) => process.send!(taken))
})
