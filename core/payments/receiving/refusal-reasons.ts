/** What a payer can do about it: reasons of facilitators (x402's exact scheme on EVM), and ours. */
const REASON_TEXTS: Readonly<Record<string, string>> = {
  invalid_exact_evm_insufficient_balance: 'The wallet that signed has too little USDC on Base.',
  invalid_exact_evm_payload_authorization_valid_after: 'The payment is not valid yet.',
  invalid_exact_evm_payload_authorization_valid_before:
    'The payment has expired, or would before the work is done: sign one that is valid longer.',
  invalid_exact_evm_signature: 'The signature is not that of the wallet that is to pay.',
  no_matching_payment_requirements: 'The payment pays something else than this offer asks for.',
  authorization_lives_too_long: 'The payment is valid for too long: sign one as the offer says.',
  upfront_required: 'This payer is asked to pay before the work: sign for the offer that is here.',
}

/** Why a payment was refused, in a sentence; undefined where only its name is known. */
export const describeRefusal = (reason: string): string | undefined => REASON_TEXTS[reason]
