import type { Funds, Outcome, Receipt } from './call.ts'
import { discard } from './discard.ts'

/** Charges or gives back; an answer that cannot be charged is let go of, and not delivered. */
export async function settle(funds: Funds, outcome: Outcome): Promise<Receipt> {
  try {
    return await funds.settle(outcome)
  } catch (error) {
    discard(outcome.body)
    throw error
  }
}
