import { FAULTS } from '../../../core/errors.ts'

/** Two schemes: crawlers assume that any operation with `apiKey` requires a key. */
const KEY = { type: 'http', scheme: 'bearer', bearerFormat: 'ahk_…' } as const
export const SECURITY_SCHEMES = {
  apiKey: { ...KEY, description: 'API key; see GET /v1/register/challenge.' },
  credits: { ...KEY, description: 'Optional API key: its free calls and credits pay first.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'hub_session',
    description: 'Session of POST /v1/account/sign-in. Over TLS: __Host-hub_session.',
  },
} as const

/** Accepted security schemes by `auth` of a route. */
export const SECURITY_BY_AUTH = {
  none: [],
  key: [{ apiKey: [] }],
  auditor: [{ apiKey: [] }, { session: [] }],
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
      description: 'Refund to the caller and its reason.',
      required: ['source', 'reason'],
      properties: {
        source: { enum: ['credits', 'free'] },
        amount_microdollars: { type: 'integer' },
        free_calls: { type: 'integer' },
        free_units: { type: 'integer' },
        unit: { type: 'string', description: 'Unit of the free units.' },
        reason: { type: 'string' },
      },
    },
  },
} as const

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
    metered: { type: 'object', description: 'Metered prices: what the maximum covers.' },
    price_version: { type: 'integer' },
    source: { enum: ['free', 'credits', 'x402', 'none'] },
    charge_microdollars: { type: 'integer' },
    balance_microdollars: { type: ['integer', 'null'] },
    balance_after_microdollars: { type: ['integer', 'null'] },
    free_calls_after: { type: 'integer' },
  },
} as const

/** Problem with an x402 offer. */
export const PAYMENT_REQUIRED = {
  description:
    'Problem with an x402 offer: version 1 in the body, version 2 in the header PAYMENT-REQUIRED.',
  allOf: [
    { $ref: '#/components/schemas/Problem' },
    {
      type: 'object',
      properties: {
        x402Version: { const: 1 },
        error: { type: 'string' },
        accepts: { type: 'array', items: { type: 'object' } },
      },
    },
  ],
} as const
