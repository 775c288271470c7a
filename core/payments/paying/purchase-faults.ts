import { EgressError } from '../../egress/errors.ts'
import { Fault, type FaultCode } from '../../errors.ts'
import { json, type Micros } from '../../money.ts'
import type { QuoteCaution } from '../../plugin/index.ts'
import type { ListedTerms } from './listed-terms.ts'
import { PaymentTermsError } from './terms-error.ts'

/** Prices above this (microdollars) are not shown; a seller may ask for any number. */
const SHOWN_PRICE_MAX = 1_000_000_000_000n

export interface QuoteContext {
  readonly listed?: ListedTerms | undefined
  readonly knownPayTo?: readonly string[]
  /** Maximum price of one purchase. */
  readonly purchaseMax?: Micros
  readonly cautions?: readonly QuoteCaution[]
}

/** Converts errors of egress and terms, which already carry fault codes, to faults. */
export function toPurchaseFault(error: unknown, context: QuoteContext = {}): unknown {
  if (!(error instanceof EgressError || error instanceof PaymentTermsError)) return error
  const { listed, knownPayTo = [], cautions = [] } = context
  const upstream = error instanceof EgressError ? error.response?.status : undefined
  const { price, payTo } =
    error instanceof PaymentTermsError ? error : { price: undefined, payTo: undefined }
  const limit = error instanceof PaymentTermsError ? priceLimit(error, context) : undefined
  const extras = {
    ...(payTo !== undefined && { pay_to: payTo, known_pay_to: knownPayTo }),
    ...(upstream !== undefined && { upstream: { status: upstream } }),
    ...(price !== undefined && price <= SHOWN_PRICE_MAX && { price_microdollars: json(price) }),
    ...(price !== undefined && listed && { listed_price_microdollars: json(listed.price) }),
    ...(limit && { limit: limit.name }),
    ...(listed && { cautions }),
  }
  const more = { extras, cause: error, advice: limit?.advice }
  return new Fault(error.code satisfies FaultCode, error.message, more)
}

/** Names the limit that a price exceeds, and how to accept it; undefined for other errors. */
function priceLimit(
  { reason, price }: PaymentTermsError,
  { purchaseMax }: QuoteContext,
): { readonly name: string; readonly advice: string } | undefined {
  const accept = `max_price_microdollars of at least ${price}`
  if (reason === 'above_max') {
    const advice = `Send ${accept}, or do not call.`
    return { name: 'max_price_microdollars', advice }
  }
  if (reason === 'above_listed') {
    return { name: 'listed_price_microdollars', advice: `Send ${accept} to accept it.` }
  }
  if (reason !== 'above_cap') return undefined
  const most = `The hub pays at most ${purchaseMax} microdollars per purchase`
  return { name: 'purchase_max', advice: `${most}: pay this seller directly.` }
}
