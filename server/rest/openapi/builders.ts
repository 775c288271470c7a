import { z } from 'zod'
import type { ObjectSchema } from '../../../core/catalog/services/request-input.ts'
import { FAULTS, type FaultCode } from '../../../core/errors.ts'
import { guidanceFor, outcomeOfCode } from '../../../core/guidance.ts'
import { decimal, type Micros } from '../../../core/money.ts'
import { MPP_TERMS } from '../../../core/payments/receiving/mpp-challenges.ts'
import { UPTO, X402_TERMS, type X402Terms } from '../../../core/payments/receiving/offers.ts'
import { memoizeByObject } from '../../../core/runtime/cache.ts'

/** Range of a price that depends on the request. */
export const priceRange = ({ min, max }: { readonly min: Micros; readonly max: Micros }) => ({
  mode: 'dynamic',
  currency: 'USD',
  min: decimal(min),
  max: decimal(max),
})

/**
 * Payment per request: by x402 and by MPP, whose clients read `offers`. Crawlers expect each
 * protocol as an object with its name as the only member.
 * @param amount fixed price, in microdollars
 */
export const perRequest = (x402: X402Terms, amount?: Micros) => ({
  protocols: [{ x402 }, { mpp: MPP_TERMS }],
  offers: [{ ...MPP_TERMS, amount: amount === undefined ? null : String(amount) }],
})
/** Payment by x402 of the usage of a metered price, of which the maximum is authorized. */
export const BY_USAGE = { protocols: [{ x402: { ...X402_TERMS, scheme: UPTO } }] } as const
export const BY_CREDITS = { protocols: [{ credits: { topup: '/v1/credits/purchase' } }] } as const

type Side = 'input' | 'output'

/** Converts each schema once, because the document of the API is built again every 30 seconds. */
const converted = (io: Side) =>
  memoizeByObject((schema: z.ZodType): Readonly<Record<string, unknown>> => {
    const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
    return rest
  })
const CONVERTED = { input: converted('input'), output: converted('output') }

/** Converts a zod schema to JSON Schema 2020-12. */
export const jsonSchema = (schema: z.ZodType, io: Side = 'input') => CONVERTED[io](schema)

export const pathParameters = (path: string) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))

export const queryParameters = (query: z.ZodType | undefined) =>
  query === undefined ? [] : parametersOf(jsonSchema(query))

export const parametersOf = (
  { properties = {}, required = [] }: ObjectSchema,
  place: 'query' | 'path' = 'query',
) =>
  Object.entries(properties).map(([name, schema]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(schema.description === undefined ? {} : { description: schema.description }),
    schema,
  }))

export const content = (schema: unknown, type = 'application/json') => ({
  content: { [type]: { schema } },
})

/** Request body with an optional example. */
export const jsonBody = (schema: unknown, example?: unknown) => ({
  required: true,
  content: { 'application/json': { schema, ...(example === undefined ? {} : { example }) } },
})

/** Derives an operation id: `getV1CallsId` for `GET /v1/calls/{id}`. */
export const operationIdOf = (method: string, path: string): string =>
  method.toLowerCase() +
  path.replaceAll(/[^A-Za-z\d]+(.?)/g, (_, first: string) => first.toUpperCase())

/** Groups faults by status, because OpenAPI has one response per status. */
export function problemResponses(codes: readonly FaultCode[]): Readonly<Record<string, object>> {
  const byStatus = new Map<number, FaultCode[]>()
  for (const code of new Set(codes)) {
    const [status] = FAULTS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, same]) => [
      status,
      {
        'x-codes': same,
        description: same.map((code) => `${code}: ${FAULTS[code][2]}`).join('\n'),
        ...(same.some(hasRetryAfter) && { headers: RETRY_AFTER }),
        content: {
          'application/problem+json': {
            schema: {
              $ref: `#/components/schemas/${same.some(isOffer) ? 'PaymentRequired' : 'Problem'}`,
            },
          },
        },
      },
    ]),
  )
}

const hasRetryAfter = (code: FaultCode): boolean =>
  guidanceFor(code, outcomeOfCode(code)).retryAfter !== undefined

const RETRY_AFTER = {
  'Retry-After': {
    description: 'Seconds after which the same request is worth repeating.',
    schema: { type: 'integer' },
  },
} as const

const isOffer = (code: FaultCode): boolean => code === 'payment_required'
