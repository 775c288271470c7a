import { type BankSpec, openBank } from '../banks/index.ts'
import { violations } from './checker.ts'
import type { BankWorkers } from './workers.ts'
import { settleDown, type Workload } from './workload.ts'

/**
 * Ends the workload and audits the bank, also after faults. Prints how many operations were
 * acknowledged.
 * @returns errors of the workers, and steps that the bank has lost or doubled
 */
export async function findLostSteps(
  spec: BankSpec,
  workers: BankWorkers,
  workload: Workload,
): Promise<readonly string[]> {
  await workload.finish()
  const bank = openBank(spec)
  await settleDown(bank)
  const state = await bank.audit()
  await bank.close()
  process.stdout.write(`      ${workers.responses} operations acknowledged\n`)
  return [...workers.errors, ...violations(workload.records, state)]
}
