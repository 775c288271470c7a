/** Payments with a wrong validity are often signed by a wrong clock. */
const CLOCK = 'compare your clock with the Date header'

/** Texts for refusal reasons of facilitators (x402 scheme exact on EVM) and of this hub. */
const REASON_TEXTS: Readonly<Record<string, string>> = {
  invalid_exact_evm_insufficient_balance: 'The paying wallet has insufficient USDC on Base.',
  invalid_exact_evm_payload_authorization_valid_after: `The payment is not valid yet: ${CLOCK}.`,
  invalid_exact_evm_payload_authorization_valid_before:
    'The payment has expired or would expire before the work is done: sign one valid for longer, ' +
    `and ${CLOCK}.`,
  invalid_exact_evm_signature: 'The signature does not match the paying wallet.',
  permit2_allowance_required:
    'The wallet has not approved Permit2: approve it, or sign the permit that the offer asks for.',
  permit2_insufficient_balance: 'The paying wallet has insufficient USDC on Base.',
  permit2_deadline_expired: `The payment has expired: sign one valid for longer, and ${CLOCK}.`,
  invalid_permit2_signature: 'The signature does not match the paying wallet.',
  permit2_simulation_failed:
    'The permit cannot be settled: it may have been used, or canceled. Sign another one.',
  approval_in_use:
    'Another payment of this wallet uses its permit of USDC: approve Permit2, or sign again later.',
  eip2612_deadline_expired: 'The permit of USDC expires before the payment: sign one as long.',
  too_much_owed:
    'Other calls of this wallet are not paid yet: retry when they end, or pay by credits.',
  credits_required: 'This payer must pay before the work: buy credits, which pay for usage.',
  no_matching_payment_requirements: 'The payment does not match this offer.',
  authorization_lives_too_long: `The payment is valid for longer than offered: ${CLOCK}.`,
  invalid_challenge: 'The payment answers no challenge of this hub: sign the enclosed one.',
  payment_deposited:
    'The payment bought nothing and was returned: it is credits of the paying wallet’s key.',
  upfront_required: 'This payer must pay before the work: sign for the enclosed offer.',
}

/** Explains a refusal reason in one sentence; undefined for an unknown reason. */
export const describeRefusal = (reason: string): string | undefined => REASON_TEXTS[reason]

/** Reasons for forgetting a claim: nobody can settle it to us, so watching it is useless. */
export const UNUSABLE_REASONS: ReadonlySet<string> = new Set([
  'authorization_lives_too_long',
  'invalid_exact_evm_signature',
  'invalid_permit2_signature',
  'invalid_permit2_spender',
  'permit2_token_mismatch',
  'upto_facilitator_mismatch',
  'invalid_exact_evm_recipient_mismatch',
  'invalid_exact_evm_payload_authorization_value_mismatch',
])
/** The chain decides about a payment that was used before. */
export const NONCE_USED = 'invalid_exact_evm_nonce_already_used'
const EXPIRED = 'invalid_exact_evm_payload_authorization_valid_before'
export const UPFRONT_REQUIRED = 'upfront_required'
/** A payer who must pay upfront cannot pay a metered price by x402. */
export const CREDITS_REQUIRED = 'credits_required'
/** The metered calls of a wallet that are in flight could cost more than it has ever paid. */
export const TOO_MUCH_OWED = 'too_much_owed'
export const APPROVAL_IN_USE = 'approval_in_use'
export const APPROVAL_EXPIRES = 'eip2612_deadline_expired'
/** Reasons for which a payment is not verified, so that only the chain knows if it was taken. */
export const REASONS_TO_ASK: ReadonlySet<string> = new Set([EXPIRED, UPFRONT_REQUIRED])
