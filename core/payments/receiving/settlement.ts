import { encodePaymentResponseHeader } from '@x402/core/http'
import { SettleError, type SettleResponse } from '@x402/core/types'
import type { Hex, Network } from '../chain/asset.ts'
import { NOT_BROADCAST } from '../facilitators/facilitator.ts'
import type { Payment } from './payment.ts'

/**
 * `settled`: the money has moved. `pending`: it may have moved or may still; only the chain can
 * tell, until the authorization has expired on it. `failed`: this attempt moved nothing; where an
 * earlier attempt at the same payment had no known end, it is the chain that must be asked.
 */
export interface Settlement {
  readonly outcome: 'settled' | 'pending' | 'failed'
  /** Hash of the transaction; a pending one may be without. */
  readonly tx?: Hex
  readonly payer: Hex
  /** Microdollars. */
  readonly amount: bigint
  readonly reason?: string
  /** Value of PAYMENT-RESPONSE. */
  readonly responseHeader: string
}

const PENDING = 'settlement_pending'

/**
 * Reasons given before anything is sent. Any other one leaves the outcome open: a facilitator's
 * "transaction failed" may be a lost answer, "nonce already used" our own payment of before.
 */
const UNSENT_REASONS = new Set([
  NOT_BROADCAST,
  'insufficient_funds',
  'invalid_exact_evm_authorization_value',
  'invalid_exact_evm_failed_to_parse_signature',
  'invalid_exact_evm_insufficient_balance',
  'invalid_exact_evm_missing_eip712_domain',
  'invalid_exact_evm_network_mismatch',
  'invalid_exact_evm_payload_authorization_valid_after',
  'invalid_exact_evm_payload_authorization_valid_before',
  'invalid_exact_evm_payload_authorization_value_mismatch',
  'invalid_exact_evm_recipient_mismatch',
  'invalid_exact_evm_scheme',
  'invalid_exact_evm_signature',
  'invalid_exact_evm_token_name_mismatch',
  'invalid_exact_evm_token_version_mismatch',
  'invalid_network',
  'invalid_payload',
  'invalid_payment_requirements',
  'invalid_scheme',
  'invalid_x402_version',
  'eip6492_factory_not_allowed',
  'unsupported_payload_type',
  'unsupported_scheme',
])

/** The answer of a facilitator that did not take the payment. */
export const refusedResponse = (
  network: Network,
  errorReason: string,
  errorMessage = 'Nothing was settled.',
): SettleResponse => ({ success: false, errorReason, errorMessage, transaction: '', network })

/** What a facilitator's failure amounts to: it says what became of the payment, or it does not. */
export function errorResponse(network: Network, error: unknown): SettleResponse {
  if (!(error instanceof SettleError)) return refusedResponse(network, PENDING, 'No answer yet.')
  const { errorReason = PENDING, errorMessage, transaction } = error
  return { ...refusedResponse(network, errorReason, errorMessage), transaction }
}

/** What came of a payment, from what the facilitator answered. */
export function toSettlement({ payload }: Payment, answer: SettleResponse): Settlement {
  const { from, value } = payload.authorization
  const hasHash = /^0x[0-9a-fA-F]{64}$/.test(answer.transaction)
  const outcome = outcomeOf(answer, hasHash)
  const reason = outcome === 'settled' ? undefined : (answer.errorReason ?? PENDING)
  return {
    outcome,
    ...(hasHash ? { tx: answer.transaction.toLowerCase() as Hex } : {}),
    payer: from.toLowerCase() as Hex,
    amount: BigInt(value),
    ...(reason === undefined ? {} : { reason }),
    responseHeader: encodePaymentResponseHeader(payerResponse(answer, outcome, from, value)),
  }
}

function outcomeOf({ success, errorReason = '' }: SettleResponse, hasHash: boolean) {
  if (success) return hasHash ? 'settled' : 'pending'
  return !hasHash && UNSENT_REASONS.has(errorReason) ? 'failed' : 'pending'
}

/**
 * What the payer is told. The scheme leaves out the amount, and a facilitator may leave out the
 * payer; its error message is for us: it may name our node.
 */
const payerResponse = (
  { transaction, network, errorReason = PENDING, extensions }: SettleResponse,
  outcome: Settlement['outcome'],
  payer: string,
  amount: string,
): SettleResponse => ({
  success: outcome === 'settled',
  ...(outcome === 'pending' ? { errorReason: PENDING } : {}),
  ...(outcome === 'failed' ? { errorReason } : {}),
  transaction,
  network,
  payer,
  ...(outcome === 'settled' ? { amount } : {}),
  ...(extensions === undefined ? {} : { extensions }),
})
