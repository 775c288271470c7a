import { Client } from 'pg'
import { databaseUrl } from '../../../core/db/open.ts'
import { type BankSpec, openBank } from '../banks/index.ts'
import type { Cluster } from '../rig/cluster.ts'
import { type Torment, torment } from '../rig/torment.ts'
import { violations } from './checker.ts'
import { Tellers } from './tellers.ts'
import { settleDown, Workload } from './workload.ts'

export interface Plan {
  readonly agents: number
  readonly callers: number
  readonly seconds: number
  /** What goes wrong meanwhile. */
  readonly torments: (tellers: Tellers) => readonly Torment[]
}

export interface Report {
  readonly violations: readonly string[]
  /** How often each torment happened. */
  readonly times: readonly number[]
  readonly steps: number
  readonly acknowledged: number
  readonly entries: number
  /** Tries whose answer never came. */
  readonly lost: number
}

const TELLERS = 4

/** Runs the workload on a bank while things go wrong, and judges its books afterwards. */
export async function round(spec: BankSpec, plan: Plan): Promise<Report> {
  const bank = openBank(spec)
  const tellers = new Tellers(spec, TELLERS)
  try {
    const workload = new Workload(tellers, plan.agents)
    await workload.start(plan.callers)
    const sweep = { pause: () => 1_000, act: () => bank.expire().then(ignore, ignore) }
    const times = await torment(plan.seconds, [...plan.torments(tellers), sweep])
    await workload.finish()
    await settleDown(bank)
    const books = await bank.audit()
    const { told } = workload
    return {
      violations: [...tellers.faults.slice(0, 5), ...violations(told, books)],
      times,
      steps: told.length,
      acknowledged: tellers.answers,
      entries: books.entries.length,
      lost: told.reduce((sum, each) => sum + each.lost, 0),
    }
  } finally {
    await tellers.dismiss()
    await bank.close()
  }
}

const ignore = (): void => {}

/** Kill -9 of PostgreSQL, and its recovery. */
export async function crash(cluster: Cluster, settings?: Record<string, string>): Promise<void> {
  await cluster.kill()
  await cluster.start(settings)
}

/** An empty database in a cluster. */
export async function emptyDatabase(cluster: Cluster, name: string): Promise<string> {
  const client = new Client(cluster.url)
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  return databaseUrl(cluster.url, name)
}

/** Prints what a run came to, below the name of its test. */
export function tell(
  { acknowledged, steps, entries, lost, ...report }: Report,
  what: string,
): void {
  const found = report.violations.map((each) => `      found: ${each}\n`).join('')
  process.stdout.write(
    `      ${acknowledged} operations acknowledged of ${steps} steps, ${entries} entries, ` +
      `${lost} tries without an answer; ${what}\n${found}`,
  )
}
