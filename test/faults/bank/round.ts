import { Client } from 'pg'
import { databaseUrl } from '../../../core/db/open.ts'
import { type BankSpec, openBank } from '../banks/index.ts'
import type { Cluster } from '../rig/cluster.ts'
import { injectFaults, type RecurringFault } from '../rig/inject-faults.ts'
import type { BankState } from './bank.ts'
import { violations } from './checker.ts'
import { BankWorkers } from './workers.ts'
import { settleDown, Workload } from './workload.ts'

export interface Plan {
  readonly agents: number
  readonly callers: number
  readonly seconds: number
  /** Faults injected during the round. */
  readonly faults: (workers: BankWorkers) => readonly RecurringFault[]
}

export interface Report {
  readonly violations: readonly string[]
  /** Number of injections of each fault. */
  readonly times: readonly number[]
  readonly steps: number
  readonly acknowledged: number
  readonly state: BankState
  /** Attempts without a response. */
  readonly lost: number
}

const WORKERS = 4

/** Runs the workload on a bank under faults, then checks its entries and balances. */
export async function runRound(spec: BankSpec, plan: Plan): Promise<Report> {
  const bank = openBank(spec)
  const workers = new BankWorkers(spec, WORKERS)
  try {
    const workload = new Workload(workers, plan.agents)
    await workload.start(plan.callers)
    const sweep = { pause: () => 1_000, act: () => bank.expire().then(ignore, ignore) }
    const times = await injectFaults(plan.seconds, [...plan.faults(workers), sweep])
    await workload.finish()
    await settleDown(bank)
    const state = await bank.audit()
    const { records } = workload
    return {
      violations: [...workers.errors.slice(0, 5), ...violations(records, state)],
      times,
      steps: records.length,
      acknowledged: workers.responses,
      state,
      lost: records.reduce((sum, each) => sum + each.lost, 0),
    }
  } finally {
    await workers.stop()
    await bank.close()
  }
}

const ignore = (): void => {}

/** Kills PostgreSQL with SIGKILL and restarts it. */
export async function crash(cluster: Cluster, settings?: Record<string, string>): Promise<void> {
  await cluster.kill()
  await cluster.start(settings)
}

/** Creates an empty database. @param url of the superuser @returns its connection string */
export async function emptyDatabase(
  { url }: { readonly url: string },
  name: string,
): Promise<string> {
  const client = new Client(url)
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  return databaseUrl(url, name)
}

/** Prints the result of a round below the title of its test. */
export function printReport(
  { acknowledged, steps, state, lost, ...report }: Report,
  label: string,
): void {
  const found = report.violations.map((each) => `      found: ${each}\n`).join('')
  process.stdout.write(
    `      ${acknowledged} operations acknowledged of ${steps} steps, ` +
      `${state.entries.length} entries, ${lost} attempts without a response; ${label}\n${found}`,
  )
}
