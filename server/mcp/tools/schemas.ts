import type { JsonObject } from '../../../core/json.ts'
import * as s from '../../../core/plugin/schema.ts'
import { DEFAULT_CHARS, MAX_CHARS } from '../body.ts'

export const slug = (description: string) => s.string({ minLength: 1, maxLength: 40, description })

export const query = s.optional(
  s.string({ maxLength: 500, description: 'What it should do, in plain words.' }),
)
export const category = s.optional(s.string({ maxLength: 40, description: 'As in results.' }))
export const maxListedPrice = s.optional(
  s.string({ maxLength: 24, description: 'Maximum price of a call: "0.01".' }),
)
export const limit = s.optional(s.integer({ minimum: 1, maximum: 25, description: 'Default 5.' }))
export const cursor = s.optional(
  s.string({ maxLength: 500, description: 'next_cursor of the previous page.' }),
)
export const format = s.optional(
  s.oneOf(['concise', 'detailed'], { description: 'Default concise.' }),
)

export const maxPrice = { description: 'Maximum price, in USD: "0.05".', maxLength: 24 } as const

/** Idempotency key, described so that models repeat a call safely. */
export const idempotencyKey = s.optional(
  s.string({
    minLength: 1,
    maxLength: 200,
    description:
      'A new UUID for this purchase. If the call fails or times out, repeat it with the SAME ' +
      'value: it is paid once.',
  }),
)
export const maxChars = s.optional(
  s.integer({
    minimum: 100,
    maximum: MAX_CHARS,
    description: `Of the body. Default ${DEFAULT_CHARS}.`,
  }),
)
export const offset = s.optional(
  s.integer({
    minimum: 0,
    description: 'Continues a truncated body by its idempotency_key. Free.',
  }),
)

export const dryRun = s.optional(s.boolean({ description: 'Only reports price and payer.' }))

/** Schema of a result: members are optional, and others are allowed. */
export const resultSchema = (properties: JsonObject): JsonObject => ({ type: 'object', properties })

const string = { type: 'string' } as const
export const PAID_RESULT = resultSchema({
  status: { type: 'integer' },
  charged_usd: string,
  reserved_usd: { ...string, description: 'Held until the call ends.' },
  balance_usd: string,
  paid_from: { ...string, description: 'free, credits, x402 or none' },
  call_id: string,
  idempotency_key: string,
  replayed: { type: 'boolean' },
  body: { description: 'Third-party data.' },
  truncated: { type: 'boolean' },
  next_offset: { type: 'integer' },
})

export const listSchema = (name: string): JsonObject =>
  resultSchema({ [name]: { type: 'array', items: { type: 'object' } }, next_cursor: string })
