import {
  type Catalog,
  maxPrice,
  meteredPrice,
  type Offering,
} from '../../core/catalog/services/catalog.ts'
import { findRoute, methodsForPath } from '../../core/catalog/services/routing.ts'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import { uuidv7 } from '../../core/ids.ts'
import { isJsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { json, type Micros } from '../../core/money.ts'
import type { Quote } from '../../core/plugin/index.ts'
import { type Issue, UNKNOWN_FIELD } from '../../core/plugin/validate.ts'
import { hashRequest } from '../../core/usage/receipts.ts'
import { methodNotAllowed } from '../http/problem.ts'
import { isAmbiguous } from './ambiguous-path.ts'
import type { CallDeps } from './call-deps.ts'
import { endpointName } from './call-record.ts'
import type { AnonymousCaller, CallRequest, PricedCall } from './call-types.ts'
import { readInput, unsupportedForm } from './input.ts'
import { providerFault, withDeadline } from './provider-code.ts'
import { signInRequired } from './sign-in-offer.ts'

/**
 * Finds the endpoint, validates the input and determines the price.
 * @throws Fault `malformed_path`, `service_not_found`, `not_found`, `method_not_allowed`,
 *   `price_exceeds_max`, the 402 of `signInRequired`, or a failure of the endpoint's price
 *   function. An input error is returned, not thrown.
 */
export async function quote(
  deps: CallDeps,
  caller: Caller | AnonymousCaller,
  request: CallRequest,
): Promise<PricedCall> {
  if (isAmbiguous(`/${request.slug}${request.path}`)) {
    throw new Fault('malformed_path', undefined, { money: 'none' })
  }
  const { offering: found, params } = endpointOf(await deps.catalog.find(request.slug), request)
  if (caller.keyId === null && deps.creditsOnly.has(request.slug)) {
    throw await signInRequired(deps, found, caller, request)
  }
  const input = acceptPayTo(deps, request, readInput(found.endpoint, params, request))
  const bodyError = request.bodyError ?? unsupportedForm(found, request)
  const inputError = bodyError ?? invalidInput(await found.checkInput(input), request)
  const computed = inputError ? undefined : await priceOf(found, input, request.agent, deps.log)
  const amountNow = computed?.amount ?? maxPrice(found.endpoint)
  const current = { offering: found, amount: amountNow, metered: meteredPrice(found.endpoint) }
  // Hashed before the handler can change the input: the hash tells one request from another.
  const requestHash = inputError ? NO_HASH : hashRequest(endpointName(found), input)
  const { quoteId, maxPrice: limit } = request
  const { quoted, quoteError } =
    quoteId === undefined || inputError
      ? NOT_QUOTED
      : await findQuoted(deps, caller, found, requestHash, quoteId)
  const { offering, amount, metered } = cheaperTerms(current, quoted)
  const isFinal = computed !== undefined || (!inputError && request.payment !== undefined)
  if (isFinal && limit !== undefined && amount > limit) {
    const name = request.maxPriceName ?? 'X-Max-Price'
    throw new Fault('price_exceeds_max', `The price, ${amount} microdollars, exceeds ${name}.`, {
      extras: { price_microdollars: json(amount), max_microdollars: json(limit) },
      advice: `Raise ${name} to at least ${amount} microdollars, or do not call.`,
    })
  }
  return {
    request,
    caller,
    call: uuidv7(deps.clock.now().getTime()),
    offering,
    price: amount,
    metered,
    terms: computed?.terms,
    cautions: computed?.cautions,
    input,
    requestHash,
    inputError,
    quoteError,
  }
}

/** Adds `X-Accept-Pay-To` to the input of a purchase from an external seller. */
const acceptPayTo = (
  { creditsOnly }: Pick<CallDeps, 'creditsOnly'>,
  { slug, acceptPayTo: payTo }: CallRequest,
  input: unknown,
): unknown =>
  payTo !== undefined && creditsOnly.has(slug) && isJsonObject(input)
    ? { accept_pay_to: payTo, ...input }
    : input

/** Hash of an invalid input, which is refused anyway. */
const NO_HASH = Buffer.alloc(0)

interface QuotedPrice {
  readonly quoted?: PriceTerms
  readonly quoteError?: Fault
}

type PriceTerms = Pick<PricedCall, 'offering' | 'metered'> & { readonly amount: Micros }

/**
 * Chooses the cheaper of the current price and a quote. The handler reports usage in the unit of
 * the current price: a quote in another unit, or in none, limits what that usage costs. If the
 * current price is fixed, the maximum of a metered quote is a fixed price.
 */
function cheaperTerms(current: PriceTerms, found: PriceTerms | undefined): PriceTerms {
  if (!found) return current
  const { metered, amount } = current
  if (metered && found.metered?.unit !== metered.unit) {
    return found.amount < amount ? { ...current, amount: found.amount } : current
  }
  const quoted = metered ? found : { ...found, metered: undefined }
  return isCheaper(quoted, current) ? quoted : current
}

/** Compares the prices of a unit, if both are metered, or else what is reserved. */
function isCheaper(one: PriceTerms, other: PriceTerms): boolean {
  const [a, b] = [one.metered, other.metered]
  if (!a || !b) return one.amount < other.amount
  const difference = a.of.amount * b.of.per - b.of.amount * a.of.per
  return difference === 0n ? one.amount < other.amount : difference < 0n
}

const NOT_QUOTED: QuotedPrice = {}

async function findQuoted(
  { quotes }: CallDeps,
  { keyId }: Caller | AnonymousCaller,
  offering: Offering,
  requestHash: Buffer,
  quoteId: string,
): Promise<QuotedPrice> {
  const quotable = { endpoint: offering.endpointId, requestHash }
  try {
    const found = await quotes.find(quoteId, keyId, quotable)
    const { amount, metered, priceVersion, commissionBps } = found
    return { quoted: { amount, metered, offering: { ...offering, priceVersion, commissionBps } } }
  } catch (error) {
    if (error instanceof Fault) return { quoteError: error }
    throw error
  }
}

function endpointOf(
  routes: Awaited<ReturnType<Catalog['find']>>,
  { slug, method, path }: CallRequest,
): NonNullable<ReturnType<typeof findRoute>> {
  if (!routes) throw new Fault('service_not_found', `There is no service "${slug}".`)
  const found = findRoute(routes, method, path)
  if (found) return found
  const allow = methodsForPath(routes, path)
  if (allow.length > 0) throw methodNotAllowed(`/${slug}${path}`, allow)
  throw new Fault('not_found', `"${slug}" has no ${method} ${path}.`, {
    extras: { endpoints: [...routes.keys()] },
  })
}

/** Returns a promise only if the price is computed. */
function priceOf(
  offering: Offering,
  input: unknown,
  agent: string | undefined,
  log: Log,
): Quote | Promise<Quote> {
  const { price } = offering.endpoint
  if (typeof price === 'bigint') return { amount: price }
  if (price.unit !== undefined) return { amount: price.max }
  return computePrice(offering, price.max, () => price.of(input, agent), log)
}

async function computePrice(
  { endpoint, service }: Offering,
  max: Micros,
  compute: () => Quote | Promise<Quote>,
  log: Log,
): Promise<Quote> {
  const work = withDeadline(endpoint, compute)
  const quote: Quote | undefined = await work.catch((error: unknown) => {
    throw providerFault(error, service.slug, log)
  })
  if (typeof quote?.amount !== 'bigint' || quote.amount < 0n || quote.amount > max) {
    throw new Fault('plugin_contract', 'The computed price exceeds the declared maximum.')
  }
  return quote
}

/** Returns the input error: a 422, or a 413 for a text that is too long. */
function invalidInput(
  issues: readonly Issue[],
  { query }: Pick<CallRequest, 'query'>,
): Fault | undefined {
  const [first] = issues
  if (!first) return undefined
  const large = issues.find(({ tooLarge }) => tooLarge)
  if (large?.tooLarge) {
    return new Fault('text_too_large', `${large.path}: ${large.message}.`, {
      extras: { path: large.path, ...large.tooLarge },
    })
  }
  const detail = first.path ? `${first.path}: ${first.message}.` : `The input ${first.message}.`
  return new Fault('validation_failed', `${detail}${urlHint(first, query)}`, { extras: { issues } })
}

const URL_WITH_QUERY = /^https?:\/\/[^?#]*\?/

/** Second sentence if an unknown field may be the rest of a URL that was sent unencoded. */
function urlHint({ path, message }: Issue, query: CallRequest['query']): string {
  if (message !== UNKNOWN_FIELD || !(path.slice(1) in query)) return ''
  const isUrl = (value: unknown) => typeof value === 'string' && URL_WITH_QUERY.test(value)
  const [name] = Object.entries(query).find(([, value]) => isUrl(value)) ?? []
  return name === undefined ? '' : ` If it is part of the URL in ${name}, send its & as %26.`
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export function parseQuoteId(header: string | undefined): string | undefined {
  if (header === undefined || header === '') return undefined
  if (UUID.test(header)) return header.toLowerCase()
  throw new Fault('validation_failed', 'X-Quote-Id must be a quote_id from POST /v1/quotes.')
}

/** Parses `X-Max-Price`, in microdollars. */
export function parseMaxPrice(header: string | undefined): Micros | undefined {
  if (header === undefined || header === '') return undefined
  if (!/^\d{1,15}$/.test(header)) {
    throw new Fault('validation_failed', 'X-Max-Price must be a whole number of microdollars.')
  }
  return BigInt(header) as Micros
}
