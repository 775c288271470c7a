import type { Clock } from '../../../core/clock.ts'
import type { Caller } from '../../../core/identity/keys.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { Micros } from '../../../core/money.ts'
import { type Allowances, limitReached } from '../../../core/usage/allowances.ts'
import type { Standing } from '../../../core/usage/standing.ts'
import type { Funds, Offer } from '../call.ts'
import { deadlineOf } from '../provided.ts'
import { holdOf, LedgerFunds } from './ledger-funds.ts'

/** The price out of the key's credits, if there are enough. */
export const createCredits =
  (
    ledger: Ledger,
    standing: Standing,
    allowances: Allowances,
    clock: Clock,
    holdMarginSeconds: number,
  ) =>
  async (caller: Caller, { call, offering, price }: Offer): Promise<Funds | undefined> => {
    const guards = await allowances.guards(caller, clock.now())
    const { outcome } = await ledger.reserve({
      call,
      owner: caller.credits,
      amount: price,
      payee: offering.payee,
      commissionBps: offering.commissionBps,
      ttlSeconds: deadlineOf(offering.endpoint) + holdMarginSeconds,
      endpoint: offering.endpointId,
      priceVersion: offering.priceVersion,
      guards,
    })
    // Call ids are fresh: a replayed reserve is our own, whose first answer was lost.
    if (outcome !== 'applied' && outcome !== 'replayed') {
      const enough = guards.length > 0 && (await standing.balance(caller.credits)) >= price
      if (enough) throw limitReached(caller.keyId, 'allowance')
      return undefined
    }
    return new LedgerFunds(
      'credits',
      caller.keyId,
      ledger,
      holdOf(call, caller.credits),
      (charged) => charged,
      async (balance) => {
        standing.remember(caller.credits.id, balance)
        return balance as Micros
      },
    )
  }
