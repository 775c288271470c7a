import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import type { Caller } from '../../../core/identity/keys.ts'
import { isJsonObject } from '../../../core/json.ts'
import { json } from '../../../core/money.ts'
import { assertKeyAllows } from '../../../core/usage/allowances.ts'
import type { Quotes } from '../../../core/usage/quotes.ts'
import { showMetered } from '../../../core/usage/usage-view.ts'
import type { CallRequest, PricedCall } from '../../proxy/call-types.ts'
import { type AnyRoute, callerOf, type RestRequest, route } from '../route.ts'
import { meteredField } from '../usage-schema.ts'

const QuoteOrder = z.strictObject({
  slug: z.string().min(1).max(40),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('POST'),
  path: z
    .string()
    .regex(/^\/[^\p{Cc}?#]*$/u, 'must be a path below the slug')
    .max(500),
  input: z.unknown().meta({ description: 'Body of the call, or query of a GET.' }),
})

const Quote = z.object({
  quote_id: z.uuid().meta({ description: 'Send it as X-Quote-Id with this exact request.' }),
  slug: z.string(),
  method: z.string(),
  path: z.string(),
  price_microdollars: z.int().min(0),
  ...meteredField,
  price_version: z.int(),
  expires_at: z.iso.datetime(),
})

interface QuoteDeps {
  readonly quotes: Pick<Quotes, 'create'>
  readonly quote: (caller: Caller, request: CallRequest) => Promise<PricedCall>
  /** Slugs of services whose price is set by an external seller. */
  readonly passThrough: ReadonlySet<string>
}

export const quoteRoutes = (deps: QuoteDeps): readonly AnyRoute[] => [
  route('POST /v1/quotes', {
    summary: 'Guarantees the price of one request for five minutes.',
    auth: 'key',
    body: QuoteOrder,
    example: { slug: 'echo', method: 'POST', path: '/say', input: { words: 'hello' } },
    repeatable: true,
    response: { status: 201, schema: Quote },
    faults: [
      'malformed_path',
      'service_not_found',
      'not_found',
      'method_not_allowed',
      'text_too_large',
      'not_quotable',
      'refused',
      'key_limit_reached',
      'service_not_allowed',
      'plugin_failed',
      'plugin_contract',
      'timeout',
    ],
    handle: (request) => createQuote(deps, callerOf(request), request),
  }),
]

async function createQuote(
  { quotes, quote, passThrough }: QuoteDeps,
  caller: Caller,
  request: RestRequest<z.infer<typeof QuoteOrder>, undefined>,
) {
  const { slug, method, path } = request.body
  if (passThrough.has(slug)) throw new Fault('not_quotable')
  const priced = await quote(caller, toCallRequest(request))
  if (priced.inputError) throw priced.inputError
  assertKeyAllows(caller.limits, slug, priced.price)
  const { offering, price, metered } = priced
  const { expiresAt } = await quotes.create(priced.call, caller.keyId, {
    endpoint: offering.endpointId,
    priceVersion: offering.priceVersion,
    amount: price,
    commissionBps: offering.commissionBps,
    requestHash: priced.requestHash,
  })
  return {
    status: 201,
    body: {
      quote_id: priced.call,
      slug,
      method,
      path,
      price_microdollars: json(price),
      ...(metered && { metered: showMetered(metered, price) }),
      price_version: offering.priceVersion,
      expires_at: expiresAt.toISOString(),
    },
  }
}

/** Converts a quote request to the call request that the proxy would build. */
function toCallRequest({
  requestId,
  body: { slug, method, path, input },
  ip,
  url,
}: RestRequest<z.infer<typeof QuoteOrder>, undefined>): CallRequest {
  return {
    requestId,
    slug,
    method,
    path,
    url: () => url,
    query: isJsonObject(input) ? input : {},
    body: input,
    authorization: undefined,
    payment: undefined,
    idempotencyKey: undefined,
    maxPrice: undefined,
    ip: () => ip,
  }
}
