import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import type { Caller } from '../../../core/identity/keys.ts'
import { isJsonObject } from '../../../core/json.ts'
import { json } from '../../../core/money.ts'
import { assertAllowed } from '../../../core/usage/allowances.ts'
import type { Quotes } from '../../../core/usage/quotes.ts'
import type { CallRequest, Steps } from '../../proxy/call.ts'
import { type AnyRoute, callerOf, type RestRequest, route } from '../route.ts'

const Order = z.strictObject({
  slug: z.string().min(1).max(40),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('POST'),
  path: z
    .string()
    .regex(/^\/[^\p{Cc}?#]*$/u, 'a path below the slug')
    .max(500),
  input: z.unknown().meta({ description: 'The body, or the query of a GET, that will be sent.' }),
})

const Quote = z.object({
  quote_id: z.uuid().meta({ description: 'Send it as X-Quote-Id with exactly this request.' }),
  slug: z.string(),
  method: z.string(),
  path: z.string(),
  price_microdollars: z.int().min(0),
  price_version: z.int(),
  expires_at: z.iso.datetime(),
})

interface QuotePorts {
  readonly quotes: Pick<Quotes, 'make'>
  readonly quote: Steps['quote']
  /** Services whose price is somebody else's. */
  readonly passThrough: ReadonlySet<string>
}

/** Prices that hold. */
export const quoteRoutes = (ports: QuotePorts): readonly AnyRoute[] => [
  route({
    method: 'POST',
    path: '/v1/quotes',
    summary: 'Holds the price of one request for five minutes, though it may rise meanwhile.',
    auth: 'key',
    body: Order,
    example: { slug: 'echo', method: 'POST', path: '/say', input: { words: 'hello' } },
    answer: { status: 201, schema: Quote },
    faults: [
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
    handle: (request) => make(ports, callerOf(request), request),
  }),
]

async function make(
  { quotes, quote, passThrough }: QuotePorts,
  caller: Caller,
  request: RestRequest<z.infer<typeof Order>, undefined>,
) {
  const { slug, method, path } = request.body
  if (passThrough.has(slug)) throw new Fault('not_quotable')
  const offer = await quote(caller, asked(request))
  if (offer.complaint) throw offer.complaint
  assertAllowed(caller.limits, slug, offer.price)
  const { offering, price } = offer
  const { expiresAt } = await quotes.make(offer.call, caller.keyId, {
    endpoint: offering.endpointId,
    priceVersion: offering.priceVersion,
    amount: price,
    commissionBps: offering.commissionBps,
    requestHash: offer.requestHash,
  })
  return {
    status: 201,
    body: {
      quote_id: offer.call,
      slug,
      method,
      path,
      price_microdollars: json(price),
      price_version: offering.priceVersion,
      expires_at: expiresAt.toISOString(),
    },
  }
}

/** The request as the proxy would see it. */
function asked({
  requestId,
  body: { slug, method, path, input },
  ip,
  url,
}: RestRequest<z.infer<typeof Order>, undefined>): CallRequest {
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
