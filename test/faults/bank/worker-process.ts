import { LedgerUnavailable } from '../../../core/ledger/retry.ts'
import { type BankSpec, openBank } from '../banks/index.ts'
import type { Bank } from './bank.ts'
import type { WorkerRequest, WorkerResponse } from './workers.ts'

/**
 * Program: executes bank steps, and is killed by tests. It responds only after the bank has
 * responded, so every response is an acknowledgement.
 */
let bank: Bank | undefined

process.on('message', (message: BankSpec | WorkerRequest) => {
  if ('bank' in message) bank = openBank(message)
  else void answer(message).then((answer) => process.send?.(answer))
})
process.on('disconnect', () => process.exit())

async function answer({ n, step }: WorkerRequest): Promise<WorkerResponse> {
  try {
    return { n, outcome: await bank![step.what](step) }
  } catch (error) {
    if (error instanceof LedgerUnavailable) return { n }
    return { n, error: String((error as Error).stack) }
  }
}
