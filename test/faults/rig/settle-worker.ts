import { PgBoss } from 'pg-boss'
import { createPool } from '../../../core/db/pool.ts'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { QUEUE, type SettleJob, SUPERVISE_SECONDS, type WorkerMessage } from './settle-job.ts'

/**
 * Program: works a queue of jobs that settle one hold each. It stops forever at the point named by
 * its second argument, so that a test can kill it there.
 */
const [url = '', stopAt] = process.argv.slice(2)
const pool = createPool(url, { role: 'hub_finance', max: 2 })
const ledger = new Ledger(pool)
const boss = new PgBoss({
  connectionString: url,
  superviseIntervalSeconds: SUPERVISE_SECONDS,
  monitorIntervalSeconds: SUPERVISE_SECONDS,
  schedule: false,
})
boss.on('error', () => {})

const say = (word: WorkerMessage): unknown => process.send?.(word)

async function pass(point: WorkerMessage): Promise<void> {
  say(point)
  if (point === stopAt) await new Promise(() => {})
}

process.on('disconnect', () => process.exit())
await boss.start()
await boss.work<SettleJob>(QUEUE, { pollingIntervalSeconds: 0.5 }, async ([job]) => {
  const { call, owner: code, charged } = job!.data
  const owner = await ledger.account(code)
  const state = await ledger.stateOf({ call, owner })
  await pass(state === 'open' ? 'found open' : 'found settled')
  const { outcome } = await ledger.settle({ call, owner }, BigInt(charged))
  if (outcome !== 'applied' && outcome !== 'replayed') throw new Error(outcome)
  await pass(outcome)
})
say('ready')
