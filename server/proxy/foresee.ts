import { type Clock, dayName, monthName } from '../../core/clock.ts'
import type { Caller } from '../../core/identity/keys.ts'
import { allowanceOf, freeCallsOf } from '../../core/ledger/postings.ts'
import { json, type Micros } from '../../core/money.ts'
import { assertAllowed, limitReached } from '../../core/usage/allowances.ts'
import type { Standing } from '../../core/usage/standing.ts'
import type { CallRequest, FundingSource, Keyless, Offer, Reply, Steps } from './call.ts'
import { paymentRequired, refuse, takesX402, type Ways } from './fund.ts'

/** Of the answer, beside the `application/json` of a call that was made. */
export const DRY_RUN_TYPE = 'application/vnd.agenthub.dry-run+json'

interface Foreseen {
  readonly source: FundingSource
  readonly charged: Micros
  readonly freeCalls: bigint
}

/**
 * What a call would cost, who would pay and what would be left. Nothing moves and no handler runs;
 * a call that would be refused is refused in the same way.
 */
export const createForesee =
  (ways: Ways, clock: Clock): Steps['foresee'] =>
  async (caller, offer, request) => {
    if (offer.complaint) throw await refuse(offer.complaint, caller, offer, request, ways)
    if (offer.lapsed) throw offer.lapsed
    if (caller.keyId !== null) assertAllowed(caller.limits, request.slug, offer.price)
    const seen = await whoPays(caller, offer, request, ways, clock)
    if (!seen) throw await paymentRequired(caller, offer, request, ways)
    const balance = caller.keyId === null ? undefined : await ways.standing.balance(caller.credits)
    return answer(offer, seen, balance)
  }

/** In the order of specification §5.3, as `createFund` has it. */
async function whoPays(
  caller: Caller | Keyless,
  offer: Offer,
  request: CallRequest,
  ways: Ways,
  clock: Clock,
): Promise<Foreseen | undefined> {
  const { price } = offer
  const none = { charged: 0n as Micros, freeCalls: 0n }
  if (price === 0n) return { source: 'none', ...none }
  if (caller.keyId !== null) {
    const freeCalls = await freeCallsLeft(caller, offer, ways.standing, clock)
    if (freeCalls > 0n) return { source: 'free', charged: none.charged, freeCalls: freeCalls - 1n }
    if ((await ways.standing.balance(caller.credits)) >= price) {
      await assertAllowance(caller, price, ways.standing, clock)
      return { source: 'credits', charged: price, freeCalls: 0n }
    }
  }
  const pays = request.payment !== undefined && takesX402(offer, request, ways)
  return pays ? { source: 'x402', charged: price, freeCalls: 0n } : undefined
}

async function freeCallsLeft(
  { principal }: Caller,
  { offering }: Offer,
  standing: Standing,
  clock: Clock,
): Promise<bigint> {
  const { slug, freeCallsPerMonth = 0 } = offering.service
  if (freeCallsPerMonth === 0) return 0n
  const left = await standing.units(freeCallsOf(principal, slug, monthName(clock.now())))
  return left ?? BigInt(freeCallsPerMonth)
}

/** @throws Fault `key_limit_reached` */
async function assertAllowance(
  { keyId, limits }: Caller,
  price: Micros,
  standing: Standing,
  clock: Clock,
): Promise<void> {
  const today = dayName(clock.now())
  for (const limit of limits) {
    const caps = { total: limit.maxTotal, [today]: limit.maxDay }
    for (const [span, most] of Object.entries(caps)) {
      if (most === null) continue
      const left = (await standing.units(allowanceOf(limit.keyId, span))) ?? most
      if (left < price) throw limitReached(keyId, 'allowance')
    }
  }
}

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
