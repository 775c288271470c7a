/** Texts for refusal reasons of facilitators (x402 scheme exact on EVM) and of this hub. */
const REASON_TEXTS: Readonly<Record<string, string>> = {
  invalid_exact_evm_insufficient_balance: 'The paying wallet has insufficient USDC on Base.',
  invalid_exact_evm_payload_authorization_valid_after: 'The payment is not valid yet.',
  invalid_exact_evm_payload_authorization_valid_before:
    'The payment has expired or would expire before the work is done: sign one valid for longer.',
  invalid_exact_evm_signature: 'The signature does not match the paying wallet.',
  no_matching_payment_requirements: 'The payment does not match this offer.',
  authorization_lives_too_long: 'The payment is valid for too long: use the validity of the offer.',
  invalid_challenge: 'The payment answers no challenge of this hub: sign the enclosed one.',
  payment_deposited:
    'The payment bought nothing and was returned: it is credits of the paying wallet’s key.',
  upfront_required: 'This payer must pay before the work: sign for the enclosed offer.',
}

/** Explains a refusal reason in one sentence; undefined for an unknown reason. */
export const describeRefusal = (reason: string): string | undefined => REASON_TEXTS[reason]
