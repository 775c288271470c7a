import { LedgerUnavailable } from '../../../core/ledger/retry.ts'
import { type BankSpec, openBank } from '../banks/index.ts'
import type { Bank } from './bank.ts'
import type { Answer, Question } from './tellers.ts'

/**
 * A process that serves a bank, to be killed. It answers what the bank answered, and after that
 * only: an answer is an acknowledgement.
 */
let bank: Bank | undefined

process.on('message', (message: BankSpec | Question) => {
  if ('bank' in message) bank = openBank(message)
  else void answer(message).then((answer) => process.send?.(answer))
})
process.on('disconnect', () => process.exit())

async function answer({ n, step }: Question): Promise<Answer> {
  try {
    return { n, outcome: await bank![step.what](step) }
  } catch (error) {
    if (error instanceof LedgerUnavailable) return { n }
    return { n, error: String((error as Error).stack) }
  }
}
