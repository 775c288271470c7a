import { FAULTS } from '../../../core/errors.ts'

/**
 * The same keys by two names: crawlers take what refers to `apiKey` as closed to those without
 * one, whatever else the operation allows.
 */
const KEY = { type: 'http', scheme: 'bearer', bearerFormat: 'ahk_…' } as const
export const SECURITY_SCHEMES = {
  apiKey: { ...KEY, description: 'A key of the hub: GET /v1/register/challenge.' },
  credits: {
    ...KEY,
    description: 'The same key, where none is needed: its free calls and its credits pay first.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'hub_session',
    description: 'Somebody who is signed in: POST /v1/account/sign-in. By TLS: __Host-hub_session.',
  },
} as const

/** What each kind of route asks for. */
export const SECURITY = {
  none: [],
  key: [{ apiKey: [] }],
  finance: [{ apiKey: [] }, { session: [] }],
  admin: [{ apiKey: [] }, { session: [] }],
  session: [{ session: [] }],
  owner: [{ apiKey: [] }, { session: [] }],
  provider: [{ apiKey: [] }, { session: [] }],
} as const

export const PROBLEM = {
  type: 'object',
  required: [
    'type',
    'title',
    'status',
    'detail',
    'instance',
    'code',
    'request_id',
    'retryable',
    'charged_microdollars',
  ],
  properties: {
    type: { type: 'string', format: 'uri-reference' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    instance: { type: 'string' },
    code: { type: 'string', enum: Object.keys(FAULTS) },
    advice: { type: 'string' },
    request_id: { type: 'string' },
    retryable: { type: 'boolean' },
    charged_microdollars: { type: 'integer' },
    call_id: { type: 'string', format: 'uuid' },
    refund: {
      type: 'object',
      description: 'What went back to the caller, and why.',
      required: ['source', 'reason'],
      properties: {
        source: { enum: ['credits', 'free'] },
        amount_microdollars: { type: 'integer' },
        free_calls: { type: 'integer' },
        reason: { type: 'string' },
      },
    },
  },
} as const

/** What a call would come to; nothing moved. */
export const DRY_RUN = {
  type: 'object',
  required: [
    'dry_run',
    'endpoint',
    'price_microdollars',
    'price_version',
    'source',
    'charge_microdollars',
    'balance_microdollars',
    'balance_after_microdollars',
    'free_calls_after',
  ],
  properties: {
    dry_run: { const: true },
    endpoint: { type: 'string' },
    price_microdollars: { type: 'integer' },
    price_version: { type: 'integer' },
    source: { enum: ['free', 'credits', 'x402', 'none'] },
    charge_microdollars: { type: 'integer' },
    balance_microdollars: { type: ['integer', 'null'] },
    balance_after_microdollars: { type: ['integer', 'null'] },
    free_calls_after: { type: 'integer' },
  },
} as const

/** Where an offer may be paid, it stands beside the members of the problem. */
export const PAYMENT_REQUIRED = {
  description:
    'A problem with the offer of x402 version 2, which the header PAYMENT-REQUIRED carries too.',
  allOf: [
    { $ref: '#/components/schemas/Problem' },
    {
      type: 'object',
      properties: {
        x402Version: { const: 2 },
        error: { type: 'string' },
        resource: { type: 'object' },
        accepts: { type: 'array', items: { type: 'object' } },
      },
    },
  ],
} as const
