import { maxPrice, type Shown } from '../../../core/catalog/services/catalog.ts'
import { decimal, type Micros } from '../../../core/money.ts'
import { exampleOf } from '../../../core/testing/example.ts'
import { DRY_RUN_TYPE } from '../../proxy/dry-run.ts'
import { BOUGHT, SOLD } from './faults.ts'
import {
  BY_CREDITS,
  BY_X402,
  jsonBody,
  nameOf,
  type ObjectSchema,
  parametersOf,
  problems,
  range,
} from './parts.ts'

const text = { type: 'string' } as const
const header = (name: string, description: string, schema: object = text) => ({
  name,
  in: 'header',
  required: false,
  description,
  schema,
})

/** What every call may bring along. */
const CALL_PARAMETERS = [
  header('Idempotency-Key', 'Your name for the request: it is charged once.'),
  header('X-Max-Price', 'Microdollars; a dearer call is refused.', {
    type: 'string',
    pattern: '^[0-9]{1,15}$',
  }),
  header('crawler-max-price', 'The same in dollars, as crawlers say it: USD 0.01.'),
  header('X-Quote-Id', 'The quote_id of POST /v1/quotes: its price counts.', {
    type: 'string',
    format: 'uuid',
  }),
  header('X-Dry-Run', 'true: only tell what it would come to. ?dry_run does the same.', {
    type: 'string',
    enum: ['true', 'false'],
  }),
  header('PAYMENT-SIGNATURE', 'An x402 payment of the offer of a 402.'),
] as const

const told = (description: string, schema: object = text) => ({ description, schema })

const CALL_HEADERS = {
  'X-Call-Id': told('Of the call: GET /v1/calls/{id}.'),
  'X-Charged-Microdollars': told('What it cost.', { type: 'integer' }),
  'X-Reserved-Microdollars': told(
    'Of a stream: held until its end. Then trailers tell what it cost, and bring the receipt.',
    { type: 'integer' },
  ),
  'X-Balance-Microdollars': told('Credits that are left, of a caller with a key.', {
    type: 'integer',
  }),
  'X-Payment-Source': told('Who paid.', { enum: ['free', 'credits', 'x402', 'none'] }),
  'X-Receipt': told('JWS of what was asked, answered and charged; keys at /.well-known/jwks.json.'),
} as const

/** Where the members of the input stand: in the path, in the query, or in the body. */
function inputOf({ endpoint, method, path }: Shown) {
  const input: ObjectSchema = endpoint.input.json
  const inPath = (name: string) => path.includes(`{${name}}`)
  const inQuery = (name: string) =>
    !inPath(name) && (/^(GET|DELETE)$/.test(method) || endpoint.query?.includes(name) === true)
  const parameters = [
    ...parametersOf(only(input, inPath), 'path'),
    ...parametersOf(only(input, inQuery)),
    ...CALL_PARAMETERS,
  ]
  if (method === 'GET' || method === 'DELETE') return { parameters }
  const body = only(input, (name) => !inPath(name) && !inQuery(name))
  return { parameters, requestBody: jsonBody(body, exampleOf(body as object)) }
}

/** An object schema without some of its members; another schema as it is. */
function only(schema: ObjectSchema, keep: (name: string) => boolean): ObjectSchema {
  const { properties, required } = schema
  if (!properties) return schema
  const kept = Object.entries(properties).filter(([name]) => keep(name))
  if (kept.length === Object.keys(properties).length) return schema
  return {
    ...schema,
    properties: Object.fromEntries(kept),
    required: (required ?? []).filter(keep),
  }
}

/** An endpoint that is sold. */
export function paidOperation(shown: Shown): Record<string, unknown> {
  const { endpoint, method, path, service, outside } = shown
  const { deprecated } = service
  const max = maxPrice(endpoint)
  const isFixed = typeof endpoint.price === 'bigint'
  return {
    operationId: nameOf(method, `/${service.slug}${path}`),
    summary: endpoint.summary,
    tags: [service.slug],
    security: outside ? [{ apiKey: [] }] : [{ credits: [] }, {}],
    ...(deprecated && { deprecated: true }),
    ...inputOf(shown),
    'x-payment-info': {
      price: isFixed
        ? { mode: 'fixed', currency: 'USD', amount: decimal(max) }
        : range({ min: 0n as Micros, max }),
      ...(outside ? BY_CREDITS : BY_X402),
    },
    responses: {
      200: {
        description: 'Charged and delivered; or, asked for a dry run, what it would come to',
        headers: CALL_HEADERS,
        content: {
          'application/json': { schema: endpoint.output?.json ?? {} },
          [DRY_RUN_TYPE]: { schema: { $ref: '#/components/schemas/DryRun' } },
        },
      },
      ...problems(outside ? BOUGHT : SOLD),
    },
  }
}
