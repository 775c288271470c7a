import { systemClock } from '../../core/clock.ts'
import { prefixedId, uuidv7 } from '../../core/ids.ts'
import type { AccountRef, Ledger } from '../../core/ledger/ledger.ts'
import { creditsOf } from '../../core/ledger/postings.ts'
import { micros } from '../../core/money.ts'

/** Posts a call without commission to an account of earnings, paid by a new agent. */
export async function earn(ledger: Ledger, payee: AccountRef, amount: bigint): Promise<void> {
  const newId = () => uuidv7(systemClock.now().getTime())
  const owner = await ledger.open(creditsOf(prefixedId('key')), 'USDC', { home: payee.shard })
  const credits = { type: 'credits.granted', credits: owner.code, amount: micros(amount) } as const
  const granted = await ledger.post(credits, { owner, id: newId() })
  const hold = { call: newId(), owner }
  const terms = { amount, payee, commissionBps: 0, ttlSeconds: 60 }
  const reserved = await ledger.reserve({ ...hold, ...terms })
  const settled = await ledger.settle(hold, amount)
  const outcomes = [granted, reserved.outcome, settled.outcome].join()
  if (outcomes !== 'applied,applied,applied') throw new Error(`nothing earned: ${outcomes}`)
}
