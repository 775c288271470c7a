import { json, type Micros } from '../../core/money.ts'
import type { Offer, Reply, Steps } from './call.ts'
import { admit, type Foreseen, inOrder, paymentRequired, type Sources, type Ways } from './fund.ts'

/** Of the answer, beside the `application/json` of a call that was made. */
export const DRY_RUN_TYPE = 'application/vnd.agenthub.dry-run+json'

/**
 * What a call would cost, who would pay and what would be left. Nothing moves and no handler runs;
 * a call that would be refused is refused in the same way.
 */
export const createForesee =
  (sources: Sources, ways: Ways): Steps['foresee'] =>
  async (caller, offer, request) => {
    await admit(caller, offer, request, ways)
    const seen =
      offer.price === 0n
        ? GIFT
        : await inOrder(sources, ways, [caller, offer, request], (source, payer) =>
            source.foresee(payer, offer),
          )
    if (!seen) throw await paymentRequired(caller, offer, request, ways)
    const balance = caller.keyId === null ? undefined : await ways.standing.balance(caller.credits)
    return answer(offer, seen, balance)
  }

const GIFT: Foreseen = { source: 'none', charged: 0n as Micros, freeCalls: 0n }

function answer({ offering, price }: Offer, seen: Foreseen, balance: Micros | undefined): Reply {
  const fromCredits = seen.source === 'credits' ? price : 0n
  return {
    status: 200,
    headers: {
      'Content-Type': DRY_RUN_TYPE,
      'Cache-Control': 'no-store',
      'X-Charged-Microdollars': '0',
    },
    body: {
      dry_run: true,
      endpoint: `${offering.method} ${offering.path}`,
      price_microdollars: json(price),
      price_version: offering.priceVersion,
      source: seen.source,
      charge_microdollars: json(seen.charged),
      balance_microdollars: balance === undefined ? null : json(balance),
      balance_after_microdollars: balance === undefined ? null : json(balance - fromCredits),
      free_calls_after: json(seen.freeCalls),
    },
  }
}
