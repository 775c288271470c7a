import { type Catalog, maxPrice, type Offering } from '../../core/catalog/services/catalog.ts'
import { methodsOf, routeTo } from '../../core/catalog/services/routing.ts'
import { type Clock } from '../../core/clock.ts'
import { Fault } from '../../core/errors.ts'
import type { Caller } from '../../core/identity/keys.ts'
import { uuidv7 } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { json, type Micros } from '../../core/money.ts'
import type { Quote } from '../../core/plugin/index.ts'
import type { Issue } from '../../core/plugin/validate.ts'
import type { Standing } from '../../core/usage/account-status.ts'
import type { Quotes } from '../../core/usage/quotes.ts'
import { requestHash } from '../../core/usage/receipts.ts'
import { notAllowed } from '../http/problem.ts'
import type { CallRequest, Keyless, Offer } from './call.ts'
import { inputOf } from './input.ts'
import { faultOf, untilDeadline } from './provided.ts'
import { nameOf } from './record.ts'

/** Finds what is asked for, checks the input, and says what it costs. */
export const createQuote =
  (
    catalog: Pick<Catalog, 'find'>,
    standing: Standing,
    clock: Clock,
    log: Log,
    creditsOnly: ReadonlySet<string>,
    quotes: Pick<Quotes, 'find'>,
  ) =>
  async (caller: Caller | Keyless, request: CallRequest): Promise<Offer> => {
    const routes = await catalog.find(request.slug)
    const { offering: found, params } = destinationOf(routes, request)
    const input = inputOf(found.endpoint, params, request)
    const complaint = request.unreadable ?? invalidInput(found.checkInput(input))
    const mayAsk =
      !complaint && (!creditsOnly.has(request.slug) || (await hasCredits(caller, standing)))
    const quote = mayAsk ? await priceOf(found, input, log) : undefined
    const now = { offering: found, amount: quote?.amount ?? maxPrice(found.endpoint) }
    // Before anybody could change the input: all that tell one request from another go by it.
    const hash = complaint ? NONE : requestHash(nameOf(found), input)
    const { quoteId } = request
    const isHeld = !complaint && quoteId !== undefined
    const held = isHeld ? await heldPrice(quotes, caller, found, hash, quoteId) : NOT_HELD
    const { offering, amount } = held.price && held.price.amount < now.amount ? held.price : now
    const isFirm = quote !== undefined || (!complaint && request.payment !== undefined)
    if (isFirm && request.maxPrice !== undefined && amount > request.maxPrice) {
      throw new Fault('price_exceeds_max', undefined, {
        extras: { price_microdollars: json(amount), max_microdollars: json(request.maxPrice) },
      })
    }
    const call = uuidv7(clock.now().getTime())
    const { lapsed } = held
    return {
      call,
      offering,
      price: amount,
      terms: quote?.terms,
      input,
      requestHash: hash,
      complaint,
      lapsed,
    }
  }

/** The hash of what is refused anyway. */
const NONE = Buffer.alloc(0)

/** What the caller was quoted before; the lower of that and today's price counts. */
async function heldPrice(
  quotes: Pick<Quotes, 'find'>,
  { keyId }: Caller | Keyless,
  offering: Offering,
  hash: Buffer,
  quoteId: string,
): Promise<HeldPrice> {
  const asked = { endpoint: offering.endpointId, requestHash: hash }
  try {
    const { amount, priceVersion, commissionBps } = await quotes.find(quoteId, keyId, asked)
    return { price: { amount, offering: { ...offering, priceVersion, commissionBps } } }
  } catch (error) {
    if (error instanceof Fault) return { lapsed: error }
    throw error
  }
}

const NOT_HELD: HeldPrice = {}

interface HeldPrice {
  readonly price?: { readonly amount: Micros; readonly offering: Offering }
  readonly lapsed?: Fault
}

function destinationOf(
  routes: Awaited<ReturnType<Catalog['find']>>,
  { slug, method, path }: CallRequest,
): NonNullable<ReturnType<typeof routeTo>> {
  if (!routes) throw new Fault('service_not_found', `There is no service "${slug}".`)
  const found = routeTo(routes, method, path)
  if (found) return found
  const allow = methodsOf(routes, path)
  if (allow.length > 0) {
    throw notAllowed(`/${slug}${path}`, allow)
  }
  throw new Fault('not_found', `"${slug}" has no ${method} ${path}.`, {
    extras: { endpoints: [...routes.keys()] },
  })
}

/**
 * The price of an outside seller costs a request to learn, so it is asked for those only who have
 * credits at all; everybody else is shown the most that it can be.
 */
const hasCredits = async (caller: Caller | Keyless, standing: Standing): Promise<boolean> =>
  caller.keyId !== null && (await standing.balance(caller.credits)) > 0n

async function priceOf({ endpoint, service }: Offering, input: unknown, log: Log): Promise<Quote> {
  const { price } = endpoint
  if (typeof price === 'bigint') return { amount: price }
  const work = untilDeadline(endpoint, () => price.of(input))
  const quote: Quote | undefined = await work.catch((error: unknown) => {
    throw faultOf(error, service.slug, log)
  })
  if (typeof quote?.amount !== 'bigint' || quote.amount < 0n || quote.amount > price.max) {
    throw new Fault('plugin_contract', 'The computed price exceeds the declared maximum.')
  }
  return quote
}

/** What is wrong with an input, as a 422 (or a 413, where a text is too long). */
function invalidInput(issues: readonly Issue[]): Fault | undefined {
  const [first] = issues
  if (!first) return undefined
  const large = issues.find(({ tooLarge }) => tooLarge)
  if (large?.tooLarge) {
    return new Fault('text_too_large', `${large.path} ${large.message}.`, {
      extras: { path: large.path, ...large.tooLarge },
    })
  }
  return new Fault('validation_failed', `${first.path || '/'} ${first.message}.`, {
    extras: { issues },
  })
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Reads `X-Quote-Id`. */
export function quoteIdOf(header: string | undefined): string | undefined {
  if (header === undefined || header === '') return undefined
  if (UUID.test(header)) return header.toLowerCase()
  throw new Fault('validation_failed', 'X-Quote-Id is the quote_id of POST /v1/quotes.')
}

const isMicros = (text: string): boolean => /^\d{1,15}$/.test(text)

/** Reads `X-Max-Price` (microdollars). */
export function maxPriceOf(header: string | undefined): Micros | undefined {
  if (header === undefined || header === '') return undefined
  if (!isMicros(header)) {
    throw new Fault('validation_failed', 'X-Max-Price is a whole number of microdollars.')
  }
  return BigInt(header) as Micros
}
