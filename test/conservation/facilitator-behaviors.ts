import { sleep } from '../../core/clock.ts'
import type { Log } from '../../core/log.ts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import type { Chain } from '../../core/payments/chain/chain.ts'
import { chainVerified } from '../../core/payments/facilitators/chain-verified.ts'
import {
  type Facilitator,
  FacilitatorUnavailable,
  NOT_BROADCAST,
} from '../../core/payments/facilitators/facilitator.ts'
import { httpFacilitator } from '../../core/payments/facilitators/http.ts'
import type { Random } from './random.ts'

/** Behaviors of the hub's own facilitator. */
const OWN = ['own', 'own blind', 'own unsent', 'own refuses', 'own lost', 'own dead'] as const
/** Behaviors of a facilitator run by somebody else. */
const FOREIGN = [
  'foreign',
  'foreign blind',
  'foreign eager',
  'foreign refuses',
  'foreign lost',
  'foreign dead',
  'foreign late',
  'foreign pending',
  'foreign denies',
  'foreign forges',
  'foreign reuses',
] as const

export type OwnBehavior = (typeof OWN)[number]
export type ForeignBehavior = (typeof FOREIGN)[number]
export type FacilitatorBehavior = OwnBehavior | ForeignBehavior

/**
 * Behaviors of a facilitator with one payment. `blind`: the first verification fails. `unsent`: the
 * node is unreachable at the first settlement. `eager`: settles during verification. `refuses`:
 * sends nothing, with a final reason. `lost`: settles, but the response is lost. `dead`: no
 * response, and nothing is settled. `late`: no response, settles 1 to 5 s later. `pending`:
 * settles, but reports the result as not known yet. `denies`: settles, but reports a failure.
 * `forges`: reports a transaction that does not exist. `reuses`: reports the transaction of another
 * payment.
 */
export const FACILITATOR_BEHAVIORS: readonly FacilitatorBehavior[] = [...OWN, ...FOREIGN]

/**
 * Creates a nonce whose first byte selects the behavior, so that a facilitator in any process can
 * read it.
 */
export function nonceFor(behavior: FacilitatorBehavior, random: Random): Hex {
  const code = FACILITATOR_BEHAVIORS.indexOf(behavior).toString(16).padStart(2, '0')
  return `0x${code}${random.hex(31).slice(2)}`
}

type Payload = Parameters<Facilitator['settle']>[0]

const nonceOf = ({ payload }: Payload): Hex =>
  (payload as { authorization: { nonce: Hex } }).authorization.nonce

export const behaviorOf = (payload: Payload): FacilitatorBehavior =>
  FACILITATOR_BEHAVIORS[Number.parseInt(nonceOf(payload).slice(2, 4), 16)] ?? 'own'

const isOwn = (behavior: FacilitatorBehavior): behavior is OwnBehavior =>
  (OWN as readonly string[]).includes(behavior)

/** Returns a function that returns true only for the first request of each payment. */
export function firstRequests(): (payload: Payload) => boolean {
  const seen = new Set<Hex>()
  return (payload) => seen.size < seen.add(nonceOf(payload)).size
}

/** Delay before a lost response is reported as missing. */
const LOST_RESPONSE_MS = 300

interface ForeignDeps {
  readonly url: string
  readonly chain: Chain
  readonly log: Log
}

/**
 * Wraps the hub's facilitator: dispatches each payment to the hub's own or the foreign facilitator
 * and adds the behavior that its nonce selects.
 */
export function misbehavingFacilitator(
  own: Facilitator,
  { url, chain, log }: ForeignDeps,
): Facilitator {
  const service = httpFacilitator({ url })
  const verification = {
    chain,
    asset: USDC_BASE,
    name: 'foreign',
    log,
    timeoutMs: 1_000,
    pollMs: 100,
  }
  const foreign = chainVerified(service, verification)
  const [isFirstVerification, isFirstSettlement] = [firstRequests(), firstRequests()]
  const single: Facilitator = {
    getSupported: () => own.getSupported(),
    async verify(payload, requirements) {
      const behavior = behaviorOf(payload)
      if (!isOwn(behavior)) return foreign.verify(payload, requirements)
      if (behavior !== 'own blind' || !isFirstVerification(payload))
        return own.verify(payload, requirements)
      throw new FacilitatorUnavailable('verification failed (injected)')
    },
    async settle(payload, requirements) {
      const behavior = behaviorOf(payload)
      if (!isOwn(behavior)) return foreign.settle(payload, requirements)
      const { network } = requirements
      const failure = (errorReason: string) =>
        ({ success: false, errorReason, transaction: '', network }) as const
      if (behavior === 'own unsent' && isFirstSettlement(payload)) return failure(NOT_BROADCAST)
      if (behavior === 'own refuses') return failure('invalid_exact_evm_insufficient_balance')
      const result = behavior === 'own dead' ? undefined : await own.settle(payload, requirements)
      if (result && behavior !== 'own lost') return result
      await sleep(LOST_RESPONSE_MS)
      throw new FacilitatorUnavailable('no response (injected)')
    },
  }
  const facilitatorFor = (payload: Payload) =>
    (behaviorOf(payload) === 'own' && own.batched) || single
  return {
    ...single,
    batched: {
      verify: (...args) => facilitatorFor(args[0]).verify(...args),
      settle: (...args) => facilitatorFor(args[0]).settle(...args),
    },
  }
}
