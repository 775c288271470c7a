import {
  type CatalogEntry,
  maxPrice,
  meteredPrice,
} from '../../../core/catalog/services/catalog.ts'
import { publicSchema, splitInput } from '../../../core/catalog/services/request-input.ts'
import { decimal, json, type Micros } from '../../../core/money.ts'
import type { X402Terms } from '../../../core/payments/receiving/offers.ts'
import type { MeteredPrice } from '../../../core/plugin/index.ts'
import { exampleOf } from '../../../core/testing/example.ts'
import { DRY_RUN_TYPE } from '../../proxy/dry-run.ts'
import {
  BY_CREDITS,
  BY_USAGE,
  jsonBody,
  operationIdOf,
  parametersOf,
  perRequest,
  priceRange,
  problemResponses,
} from './builders.ts'
import { EXTERNAL_CALL_FAULTS, X402_CALL_FAULTS } from './faults.ts'

const text = { type: 'string' } as const
const uuid = { type: 'string', format: 'uuid' } as const
const integer = { type: 'integer' } as const

/** Request headers of every call. */
const CALL_PARAMETERS = (
  [
    ['Idempotency-Key', 'Your id for the request; repeated requests are charged once.', text],
    [
      'X-Max-Price',
      'Maximum price in microdollars; more expensive calls are refused.',
      { type: 'string', pattern: '^[0-9]{1,15}$' },
    ],
    ['crawler-max-price', 'Maximum price in dollars, in the form of crawlers: USD 0.01.', text],
    [
      'X-Accept-Pay-To',
      'External sellers: payee address to accept although the seller had another one before.',
      { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' },
    ],
    ['X-Quote-Id', 'quote_id of POST /v1/quotes, whose price applies.', uuid],
    [
      'X-Dry-Run',
      'true: returns the price and payment source without charging, like ?dry_run.',
      { type: 'string', enum: ['true', 'false'] },
    ],
    [
      'Accept-Receipt',
      'jws: X-Receipt is a JWS (RFC 7515) with a signature of its own.',
      { type: 'string', enum: ['jws'] },
    ],
    ['PAYMENT-SIGNATURE', 'x402 payment for the offer in a 402 response.', text],
    [
      'Payment-Authorization',
      'MPP payment for the challenge in a 402 response, where Authorization has the API key.',
      text,
    ],
    [
      'SIGN-IN-WITH-X',
      'Signed challenge of a 402 response: the oldest main key of the wallet pays, without a key.',
      text,
    ],
  ] as const
).map(([name, description, schema]) => ({
  name,
  in: 'header',
  required: false,
  description,
  schema,
}))

const describe = (description: string, schema: object = text) => ({ description, schema })

/** Response headers of every call, by name. */
export const CALL_HEADERS = {
  'X-Call-Id': describe('Call id, for GET /v1/calls/{id}.'),
  'X-Charged-Microdollars': describe('Cost of the call.', integer),
  'X-Charged-Earlier-Microdollars': describe(
    'Repeated responses: cost of the call that they belong to. Nothing is charged again.',
    integer,
  ),
  'X-Reserved-Microdollars': describe(
    'Streams: amount reserved until the end. Trailers then carry the cost and the receipt.',
    integer,
  ),
  'X-Usage': describe(
    'Metered prices: what was paid for: tokens;quantity=1200;price_microdollars=2000;per=1000.',
  ),
  'X-Balance-Microdollars': describe('Remaining credits of the key.', integer),
  'X-Payment-Source': describe('Payment source.', { enum: ['free', 'credits', 'x402', 'none'] }),
  'PAYMENT-RESPONSE': describe('Payments per request: signed receipt of x402.'),
  'Payment-Receipt': describe('Payments by MPP: their receipt.'),
  'X-Receipt': describe(
    'Signed hashes of request and response, and the charge: header, claims, place in the batch ' +
      '(RFC 6962) and signature. POST /v1/receipts/verify and the client library verify it.',
  ),
} as const

const RESPONSE_HEADERS = Object.fromEntries(
  Object.keys(CALL_HEADERS).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
)

const CALL_PROBLEMS = {
  own: problemResponses(X402_CALL_FAULTS),
  outside: problemResponses(EXTERNAL_CALL_FAULTS),
} as const

const FORM_TYPES = ['application/x-www-form-urlencoded', 'multipart/form-data'] as const

/** Parameters and body of the requests of an endpoint. */
function requestInput({ endpoint, method, path }: CatalogEntry) {
  const input = splitInput(endpoint, method, path)
  const withStyle = (parameter: { readonly name: string }) => {
    const { style, explode } = endpoint.styles?.[parameter.name] ?? {}
    return style === undefined || style === 'json' ? parameter : { ...parameter, style, explode }
  }
  const parameters = [
    ...parametersOf(input.path, 'path').map(withStyle),
    ...parametersOf(input.query).map(withStyle),
    ...CALL_PARAMETERS,
  ]
  if (!input.body) return { parameters }
  const body = jsonBody(input.body, exampleOf(input.body as object))
  if (!endpoint.form) return { parameters, requestBody: body }
  const forms = FORM_TYPES.map((type) => [type, { schema: input.body }])
  const content = { ...body.content, ...Object.fromEntries(forms) }
  return { parameters, requestBody: { ...body, content } }
}

/** Price of units, in dollars like the other prices here. */
const meteredTerms = ({ unit, of: { amount, per } }: MeteredPrice) => ({
  unit,
  amount: decimal(amount),
  per: json(per),
})

/**
 * @param isPayable true if wallets pay per request
 * @param x402 terms by which they do
 */
export function paidOperation(
  shown: CatalogEntry,
  isPayable: boolean,
  x402: X402Terms,
): Record<string, unknown> {
  const { endpoint, method, path, service, isPassThrough: outside } = shown
  const { deprecated } = service
  const max = maxPrice(endpoint)
  const isFixed = typeof endpoint.price === 'bigint'
  const metered = meteredPrice(endpoint)
  const wallet = metered ? BY_USAGE : perRequest(x402, isFixed ? max : undefined)
  return {
    operationId: operationIdOf(method, `/${service.slug}${path}`),
    summary: endpoint.summary,
    tags: [service.slug],
    security: outside ? [{ apiKey: [] }] : [{ credits: [] }, {}],
    ...(deprecated && { deprecated: true }),
    ...requestInput(shown),
    'x-payment-info': {
      price: isFixed
        ? { mode: 'fixed', currency: 'USD', amount: decimal(max) }
        : priceRange({ min: 0n as Micros, max }),
      ...(metered && { metered: meteredTerms(metered) }),
      ...(isPayable ? wallet : BY_CREDITS),
    },
    responses: {
      200: {
        description: 'Response of the service, or the result of a dry run',
        headers: RESPONSE_HEADERS,
        content: {
          'application/json': { schema: publicSchema(endpoint.output?.json ?? {}) },
          [DRY_RUN_TYPE]: { schema: { $ref: '#/components/schemas/DryRun' } },
          // A stream, or a response without a schema, has a type of its own.
          ...((endpoint.streams || !endpoint.output) && { '*/*': { schema: {} } }),
        },
      },
      ...CALL_PROBLEMS[outside ? 'outside' : 'own'],
    },
  }
}
