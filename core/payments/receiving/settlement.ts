import { encodePaymentResponseHeader } from '@x402/core/http'
import { SettleError, type SettleResponse } from '@x402/core/types'
import type { Asset, Hex, Network } from '../chain/asset.ts'
import { NOT_BROADCAST } from '../facilitators/facilitator.ts'
import type { Payment } from './payment.ts'
import { transferOf } from './transfer-fields.ts'

/**
 * Result of a settlement. `settled`: the money moved. `pending`: it may have moved or still may;
 * only the chain decides, until the authorization expires. `failed`: this attempt moved nothing;
 * if the outcome of an earlier attempt is unknown, the chain decides.
 */
export interface Settlement {
  readonly outcome: 'settled' | 'pending' | 'failed'
  /** Hash of the transaction; may be absent while pending. */
  readonly tx?: Hex
  readonly payer: Hex
  /** Microdollars. */
  readonly amount: bigint
  readonly reason?: string
  /** Extensions of the facilitator's response. */
  readonly extensions?: SettleResponse['extensions']
  /** Value of PAYMENT-RESPONSE. */
  readonly responseHeader: string
}

const PENDING = 'settlement_pending'

/** Reasons reported before anything is sent; any other leaves the outcome open. */
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
  'invalid_permit2_recipient_mismatch',
  'invalid_permit2_signature',
  'invalid_permit2_spender',
  'invalid_upto_evm_network_mismatch',
  'invalid_upto_evm_payload_settlement_exceeds_amount',
  'invalid_upto_evm_scheme',
  'invalid_payload',
  'invalid_payment_requirements',
  'invalid_scheme',
  'invalid_x402_version',
  'eip6492_factory_not_allowed',
  'permit2_2612_amount_mismatch',
  'permit2_allowance_required',
  'permit2_amount_mismatch',
  'permit2_deadline_expired',
  'permit2_insufficient_balance',
  'permit2_not_yet_valid',
  'permit2_proxy_not_deployed',
  'permit2_simulation_failed',
  'permit2_token_mismatch',
  'unsupported_payload_type',
  'unsupported_scheme',
  'upto_facilitator_mismatch',
])

/** Response for a payment that was not settled. */
export const refusedResponse = (
  network: Network,
  errorReason: string,
  errorMessage = 'Nothing was settled.',
): SettleResponse => ({ success: false, errorReason, errorMessage, transaction: '', network })

/** Converts an error of a facilitator to a response, pending unless the error has the outcome. */
export function errorResponse(network: Network, error: unknown): SettleResponse {
  if (!(error instanceof SettleError)) return refusedResponse(network, PENDING, 'No response yet.')
  const { errorReason = PENDING, errorMessage, transaction } = error
  return { ...refusedResponse(network, errorReason, errorMessage), transaction }
}

/**
 * Converts the facilitator's response for a payment to its settlement.
 * @param amount that was to be settled
 */
export function toSettlement(
  { payload }: Payment,
  amount: bigint,
  response: SettleResponse,
): Settlement {
  const { from } = transferOf(payload)
  const hasHash = /^0x[0-9a-fA-F]{64}$/.test(response.transaction)
  const outcome = outcomeOf(response, hasHash)
  const reason = outcome === 'settled' ? undefined : (response.errorReason ?? PENDING)
  return {
    outcome,
    ...(hasHash ? { tx: response.transaction.toLowerCase() as Hex } : {}),
    payer: from.toLowerCase() as Hex,
    amount,
    ...(reason === undefined ? {} : { reason }),
    ...(response.extensions && { extensions: response.extensions }),
    responseHeader: encodePaymentResponseHeader(
      payerResponse(response, outcome, from, String(amount)),
    ),
  }
}

/** Settlement of a payment that an earlier attempt may have sent, whatever this one reports. */
export const asPending = (
  settled: Settlement,
  { network }: Pick<Asset, 'network'>,
): Settlement => ({
  ...settled,
  outcome: 'pending',
  responseHeader: encodePaymentResponseHeader({
    ...refusedResponse(network, PENDING, 'No response yet.'),
    transaction: settled.tx ?? '',
    payer: settled.payer,
  }),
})

function outcomeOf({ success, errorReason = '' }: SettleResponse, hasHash: boolean) {
  if (success) return hasHash ? 'settled' : 'pending'
  return !hasHash && UNSENT_REASONS.has(errorReason) ? 'failed' : 'pending'
}

/** Builds the PAYMENT-RESPONSE with amount and payer, without the error (may name the node). */
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
