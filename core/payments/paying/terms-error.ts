import type { Address } from 'viem'
import type { Micros } from '../../money.ts'

/** Reasons for refusing an offer, in the order of the checks: a later one got further. */
const REASON_TEXTS = {
  no_offer: 'The seller requires payment but sent no x402 offer.',
  duplicate_offer: 'The seller sent two offers in one response.',
  malformed_offer: 'The seller sent a malformed offer.',
  extension: 'The seller requires an x402 extension that the hub does not support.',
  resource: 'The offer is for another host than the requested one.',
  scheme:
    'The seller accepts neither the scheme "exact" with EIP-3009 nor another one that can be paid.',
  network: 'The seller does not accept payments on Base.',
  asset: 'The seller does not accept USDC at its canonical address.',
  domain: 'The offer names another EIP-712 domain than that of USDC.',
  amount: 'The amount is not a positive number of atomic units, or is given twice.',
  pay_to: 'The payee address is invalid.',
  own_wallet: 'The payee is a wallet of the hub.',
  timeout: 'The time allowed for the payment is out of range.',
  authorization:
    'The seller takes the payment in the header Authorization, which the request itself sends.',
  pay_to_changed:
    'The seller asks for payment to another address than before. Nothing was signed or charged.',
  above_max: 'The price exceeds the maximum price of the caller.',
  above_cap: 'The price exceeds the limit of the hub per payment.',
  above_listed: 'The price exceeds the listed price: set max_price_microdollars to accept it.',
  not_asked: 'The URL requires no payment. The hub only forwards paid requests.',
} as const

export type TermsReason = keyof typeof REASON_TEXTS
export type TermsCode =
  | 'upstream_payment_terms'
  | 'price_exceeds_max'
  | 'not_payable'
  | 'pay_to_changed'

const CODE_BY_REASON: Partial<Record<TermsReason, TermsCode>> = {
  above_max: 'price_exceeds_max',
  above_cap: 'price_exceeds_max',
  above_listed: 'price_exceeds_max',
  not_asked: 'not_payable',
  pay_to_changed: 'pay_to_changed',
}

interface TermsErrorDetails {
  readonly price?: Micros
  readonly payTo?: Address
  /** Networks that the seller named, if none of them is Base. */
  readonly networks?: readonly unknown[]
  readonly cause?: unknown
}

const SHOWN_NETWORKS = 5
/** A CAIP-2 name, or a short name of version 1: too little room for instructions. */
const NETWORK_NAME = /^(?:[-a-z\d]{3,8}:)?[-\w]{1,32}$/

/** Second sentence that names the offered networks; empty if no name is fit to be shown. */
function offeredNetworks(networks: readonly unknown[]): string {
  const names = networks.filter((name) => typeof name === 'string' && NETWORK_NAME.test(name))
  const shown = [...new Set(names)].slice(0, SHOWN_NETWORKS)
  return shown.length === 0 ? '' : ` It offers ${shown.join(', ')}; Base is eip155:8453.`
}

/** The hub refuses the terms and has signed nothing. The message may be shown to the caller. */
export class PaymentTermsError extends Error {
  override readonly name = 'PaymentTermsError'
  readonly code: TermsCode
  readonly reason: TermsReason
  /** Price in microdollars, if only the price is the reason. */
  readonly price: Micros | undefined
  /** Offered payee address, if only that is the reason. */
  readonly payTo: Address | undefined

  constructor(reason: TermsReason, { price, payTo, networks, cause }: TermsErrorDetails = {}) {
    super(`${REASON_TEXTS[reason]}${networks ? offeredNetworks(networks) : ''}`, { cause })
    this.code = CODE_BY_REASON[reason] ?? 'upstream_payment_terms'
    this.reason = reason
    this.price = price
    this.payTo = payTo
  }
}
