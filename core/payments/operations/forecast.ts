import { creditsOf } from '../../ledger/postings.ts'
import {
  CONFIRMATION_MULTIPLIERS,
  EXPIRY_MARGIN_MS,
  requiredConfirmations,
} from '../chain/verdict.ts'
import type { PaymentDetails } from './overview.ts'

/** What is still to come of a payment. */
export interface PaymentForecast {
  /** When its outcome should be final, on a chain that makes blocks; undefined once it is. */
  readonly deadline: Date | undefined
  /** It is not final long after that: somebody has to look. */
  readonly isOverdue: boolean
  /** What the hub waits for, until when, and what a person may do; undefined: nothing remains. */
  readonly nextStep: string | undefined
}

/** Of Base, on average. */
const BLOCK_MS = 2_000n
/** The job that asks the chain comes every few seconds, and may have much to do. */
const RESOLUTION_MARGIN_MS = 60_000

const OVERDUE_ADVICE =
  'This is overdue. See that the jobs run (HUB_JOBS, npm run jobs), that RPC_URL answers, and ' +
  'that the newest block of the chain is of this minute. Book nothing by hand: the hub does as ' +
  'soon as the chain tells.'

/**
 * What happens next to a payment that is as it was seen, by itself and by a person.
 * @param finality blocks with a small transfer and on top of it before it is final
 */
export function forecastPayment(seen: PaymentDetails, finality: bigint): PaymentForecast {
  const blocks = requiredConfirmations(finality, seen.amount)
  const isFinal = FINAL_STATES.has(seen.state)
  const deadline = addMs(seen.validBefore, finalAfterMs(blocks))
  const overdue = !isFinal && seen.now > addMs(deadline, RESOLUTION_MARGIN_MS)
  const words =
    seen.direction === 'out' ? outgoingNextStep(seen, blocks) : incomingNextStep(seen, blocks)
  const by = isFinal
    ? ''
    : `By ${deadline.toISOString()} this is final; nothing is to be done until then.`
  const nextStep = words && [words, overdue ? OVERDUE_ADVICE : by].join(' ').trim()
  return { deadline: isFinal ? undefined : deadline, isOverdue: overdue, nextStep }
}

/** After the end of the authorization. */
const finalAfterMs = (blocks: bigint): number => EXPIRY_MARGIN_MS + Number(blocks * BLOCK_MS)

/**
 * From how much on (microdollars) a payment that is not final is overdue so many ms after the end
 * of its authorization, the most first: as `outlook` has it, for whoever counts in the database.
 */
export const overdueThresholds = (
  finality: bigint,
): readonly (readonly [from: bigint, ms: number])[] =>
  CONFIRMATION_MULTIPLIERS.map(([from]) => [
    from,
    finalAfterMs(requiredConfirmations(finality, from)) + RESOLUTION_MARGIN_MS,
  ])

const FINAL_STATES: ReadonlySet<string> = new Set(['confirmed', 'unused', 'failed'])

const blockCount = (blocks: bigint): string => (blocks === 1n ? 'a block' : `${blocks} blocks`)

const addMs = (instant: Date, ms: number): Date => new Date(instant.getTime() + ms)

function outgoingNextStep({ state, status, reason, key }: PaymentDetails, blocks: bigint) {
  const why = reason === null ? '' : ` (${reason})`
  if (state === 'signed') return `The signature was kept, and may have left. ${OUTGOING_RESOLUTION}`
  if (state === 'unresolved') {
    const answer = status === null ? 'No answer came' : `The seller answered ${status}`
    return `${answer}${why}. ${OUTGOING_RESOLUTION}`
  }
  if (state === 'paid') {
    const charged = reason === null ? '' : `, though nothing was delivered${why}`
    return (
      `The caller was charged${charged}. The hub waits for ${blockCount(blocks)} with the transfer, ` +
      'and books it out of the spend wallet. If the chain has none when the signature is dead, ' +
      'the caller gets the money back.'
    )
  }
  if (state !== 'confirmed' || reason === null) return undefined
  return (
    `The seller took the money and delivered nothing${why}; the caller was charged. A person may ` +
    'ask the seller for it, and make it good to the caller: npm run ledger -- adjust --debit ' +
    `expenses:x402-loss --credit ${creditsOf(key ?? '')}.`
  )
}

const OUTGOING_RESOLUTION =
  'The hub asks the chain: if the seller took the money, the caller is charged; if the signature ' +
  'dies unused, the money that is held goes back.'
const INCOMING_RESOLUTION =
  'The hub asks the chain: what was paid is booked, and what is dead unused is given up.'

function incomingNextStep({ purpose, state, delivered }: PaymentDetails, blocks: bigint) {
  if (state === 'claimed')
    return `A request is at work on it, or its process has died. ${INCOMING_RESOLUTION}`
  if (state === 'pending') {
    const then = purpose === 'call' ? ' If it is, its payer has to pay in advance.' : ''
    return `It was sent to the chain, or may still come. ${INCOMING_RESOLUTION}${then}`
  }
  if (state === 'settled') {
    return (
      `It is booked as in transit. The hub waits for ${blockCount(blocks)} with the transfer; what the ` +
      'chain forgets is booked back.'
    )
  }
  if (state !== 'confirmed' || delivered) return undefined
  return (
    'It was paid before the work, which has not succeeded yet. The payer gets it by sending the ' +
    'same request with the same payment.'
  )
}
