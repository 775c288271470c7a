import type { Steps } from './call.ts'
import { discard } from './discard.ts'
import { HoldExpired } from './funds/ledger-funds.ts'
import type { Record } from './record.ts'
import { refunded } from './refunded.ts'

/** Charges or gives back; an answer that cannot be charged is let go of, and not delivered. */
export const createSettle =
  (record: Record): Steps['settle'] =>
  async (funds, started) => {
    const { outcome } = started
    try {
      return await funds.settle(outcome)
    } catch (error) {
      discard(outcome.body)
      if (!(error instanceof HoldExpired)) throw error
      const fault = refunded(error, started.offer, funds)
      const { latencyMs } = outcome
      record.failed({ ...started, source: funds.source, fault, latencyMs })
      throw fault
    }
  }
