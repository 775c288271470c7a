import { creditsOf } from '../../ledger/postings.ts'
import { USDC_BASE } from '../chain/asset.ts'
import { EXPIRY_MARGIN_MS, FINALITY_FACTORS, requiredConfirmations } from '../chain/verdict.ts'
import type { PaymentDetails } from './overview.ts'

/** Expected completion of a payment. */
export interface PaymentForecast {
  /** Time by which the outcome should be final; undefined once it is. */
  readonly deadline: Date | undefined
  /** True if it is still open well after the deadline and an operator has to check. */
  readonly isOverdue: boolean
  /** Text on what the hub waits for, until when, and what an operator can do; undefined if done. */
  readonly nextStep: string | undefined
}

/** Average block time of Base, and of the further networks. */
const BLOCK_MS = 2_000n
/** Allowance for the job that checks the chain every few seconds and may have a backlog. */
const RESOLUTION_MARGIN_MS = 60_000

const overdueAdvice = ({ network }: PaymentDetails): string => {
  const node = network === USDC_BASE.network ? 'RPC_URL' : `the node of ${network}`
  return (
    `This is overdue. Check that the jobs run (HUB_JOBS, npm run jobs), that ${node} responds ` +
    'and that its newest block is less than a minute old. Post nothing by hand: the hub does so ' +
    'once the chain shows the outcome.'
  )
}

/**
 * Forecasts when a payment becomes final and what remains to be done.
 * @param finality confirmations after which a small transfer on its network is final
 */
export function forecastPayment(payment: PaymentDetails, finality: bigint): PaymentForecast {
  const blocks = requiredConfirmations(finality, payment.amount)
  const isFinal = FINAL_STATES.has(payment.state)
  const deadline = addMs(payment.validBefore, finalAfterMs(blocks))
  const isOverdue = !isFinal && payment.now > addMs(deadline, RESOLUTION_MARGIN_MS)
  const text = (payment.direction === 'out' ? outgoingStep : incomingStep)(payment, blocks)
  const waiting = `This is final by ${deadline.toISOString()}; no action is needed until then.`
  const advice = isFinal ? '' : isOverdue ? overdueAdvice(payment) : waiting
  const nextStep = text && `${text} ${advice}`.trim()
  return { deadline: isFinal ? undefined : deadline, isOverdue, nextStep }
}

/** Time from the expiry of the authorization until the outcome is final. */
const finalAfterMs = (blocks: bigint): number => EXPIRY_MARGIN_MS + Number(blocks * BLOCK_MS)

/** Thresholds in `forecastPayment`: overdue `ms` after expiry from an amount, largest first. */
export const overdueThresholds = (finality: bigint): readonly (readonly [bigint, number])[] =>
  FINALITY_FACTORS.map(([from]) => [
    from,
    finalAfterMs(requiredConfirmations(finality, from)) + RESOLUTION_MARGIN_MS,
  ])

const FINAL_STATES: ReadonlySet<string> = new Set(['confirmed', 'unused', 'failed'])

const blockCount = (blocks: bigint): string => (blocks === 1n ? 'a block' : `${blocks} blocks`)

const addMs = (instant: Date, ms: number): Date => new Date(instant.getTime() + ms)

function outgoingStep({ state, status, reason, key }: PaymentDetails, blocks: bigint) {
  const cause = reason === null ? '' : ` (${reason})`
  if (state === 'signed') return `The signature may have been sent. ${OUTGOING}`
  if (state === 'unresolved') {
    const response = status === null ? 'No response' : `The seller returned ${status}`
    return `${response}${cause}. ${OUTGOING}`
  }
  if (state === 'paid') {
    const charged = reason === null ? '' : `, though nothing was delivered${cause}`
    return (
      `The caller was charged${charged}. The hub waits for ${blockCount(blocks)} with the ` +
      'transfer and then posts it out of the spend wallet. If the signature expires unused, ' +
      'the caller is refunded.'
    )
  }
  if (state !== 'confirmed' || reason === null) return undefined
  return (
    `The seller took the money and delivered nothing${cause}; the caller was charged. You can ` +
    'ask the seller for a refund and compensate the caller at /finance/adjustments, ' +
    `from expenses:x402-loss to ${creditsOf(key ?? '')}.`
  )
}

const OUTGOING =
  'The hub checks the chain: if the seller took the money, the caller is charged; if the ' +
  'signature expires unused, the hold is released.'
const INCOMING =
  'The hub checks the chain: a payment that arrived is posted, an expired one is closed.'

function incomingStep({ purpose, state, delivered }: PaymentDetails, blocks: bigint) {
  if (state === 'claimed') return `A request is processing it, or died. ${INCOMING}`
  if (state === 'pending') {
    const consequence = purpose === 'call' ? ' If it expires, its payer must pay in advance.' : ''
    return `It was sent to the chain, or may still arrive. ${INCOMING}${consequence}`
  }
  if (state === 'settled') {
    return (
      `It is posted as in transit. The hub waits for ${blockCount(blocks)} with the transfer and ` +
      'reverses the entry if the transfer vanishes from the chain.'
    )
  }
  if (state !== 'confirmed' || delivered) return undefined
  return (
    'It was paid before the work, which has not succeeded yet. The payer can retry by sending ' +
    'the same request with the same payment.'
  )
}
