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

/** What the hub's own facilitator does with a payment. */
const OWN = ['own', 'own blind', 'own unsent', 'own refuses', 'own lost', 'own dead'] as const
/** What a facilitator that somebody else runs does with one. */
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
  'foreign borrows',
] as const

export type OwnAct = (typeof OWN)[number]
export type ForeignAct = (typeof FOREIGN)[number]
export type Act = OwnAct | ForeignAct

/**
 * `blind`: cannot verify, the first time. `unsent`: the node was out of reach, the first time.
 * `eager`: settles while it is asked to verify. `refuses`: sends nothing, for a final reason.
 * `lost`: settles, and its answer is lost. `dead`: no answer, and nothing is settled. `late`: no
 * answer, and settles 1 to 5 s later. `pending`: settles, and says that it does not know yet.
 * `denies`: settles, and says that it did not. `forges`: names a transaction that does not exist.
 * `borrows`: names another payment's.
 */
export const ACTS: readonly Act[] = [...OWN, ...FOREIGN]

/** A nonce tells the facilitator what to do, in whichever process it is. */
export function nonceFor(act: Act, random: Random): Hex {
  const code = ACTS.indexOf(act).toString(16).padStart(2, '0')
  return `0x${code}${random.hex(31).slice(2)}`
}

type Payload = Parameters<Facilitator['settle']>[0]

const nonceOf = ({ payload }: Payload): Hex =>
  (payload as { authorization: { nonce: Hex } }).authorization.nonce

export const actOf = (payload: Payload): Act =>
  ACTS[Number.parseInt(nonceOf(payload).slice(2, 4), 16)] ?? 'own'

const isOwn = (act: Act): act is OwnAct => (OWN as readonly string[]).includes(act)

/** Says yes once for each payment. */
export function firstTimes(): (payload: Payload) => boolean {
  const seen = new Set<Hex>()
  return (payload) => seen.size < seen.add(nonceOf(payload)).size
}

/** How long an answer is in coming that never comes. */
const SILENCE_MS = 300

interface Foreign {
  readonly url: string
  readonly chain: Chain
  readonly log: Log
}

/** The hub's facilitator: its own, or that of somebody else, each with the troubles it may have. */
export function troubled(own: Facilitator, { url, chain, log }: Foreign): Facilitator {
  const service = httpFacilitator({ url })
  const witness = { chain, asset: USDC_BASE, name: 'foreign', log, patienceMs: 1_000, pollMs: 100 }
  const foreign = chainVerified(service, witness)
  const [isFirstLook, isFirstTry] = [firstTimes(), firstTimes()]
  const single: Facilitator = {
    getSupported: () => own.getSupported(),
    async verify(payload, requirements) {
      const act = actOf(payload)
      if (!isOwn(act)) return foreign.verify(payload, requirements)
      if (act !== 'own blind' || !isFirstLook(payload)) return own.verify(payload, requirements)
      throw new FacilitatorUnavailable('blind, as planned')
    },
    async settle(payload, requirements) {
      const act = actOf(payload)
      if (!isOwn(act)) return foreign.settle(payload, requirements)
      const { network } = requirements
      const nothing = (errorReason: string) =>
        ({ success: false, errorReason, transaction: '', network }) as const
      if (act === 'own unsent' && isFirstTry(payload)) return nothing(NOT_BROADCAST)
      if (act === 'own refuses') return nothing('invalid_exact_evm_insufficient_balance')
      const answer = act === 'own dead' ? undefined : await own.settle(payload, requirements)
      if (answer && act !== 'own lost') return answer
      await sleep(SILENCE_MS)
      throw new FacilitatorUnavailable('no answer, as planned')
    },
  }
  const way = (payload: Payload) => (actOf(payload) === 'own' && own.batched) || single
  return {
    ...single,
    batched: {
      verify: (...args) => way(args[0]).verify(...args),
      settle: (...args) => way(args[0]).settle(...args),
    },
  }
}
