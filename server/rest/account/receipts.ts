import type { Pool } from 'pg'
import { z } from 'zod'
import type { Receipts } from '../../../core/usage/receipts.ts'
import { type AnyRoute, route } from '../route.ts'

const Key = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string(),
  kid: z.string(),
  alg: z.literal('EdDSA'),
  use: z.literal('sig'),
})

const hash = z.string().nullable().meta({ description: 'SHA-256, base64url.' })

const Claims = z.looseObject({
  iss: z.string(),
  jti: z.string().meta({ description: 'Id of the call.' }),
  iat: z.int().meta({ description: 'Seconds of Unix time.' }),
  sub: z.string().meta({ description: 'The key, or x402: and the wallet that paid.' }),
  endpoint: z.string(),
  price_version: z.int(),
  charged_microdollars: z.int(),
  source: z.string(),
  outcome: z.string(),
  status: z.int(),
  request_sha256: hash,
  response_sha256: hash,
  ledger_entry: z.string().nullable(),
})

const Verdict = z.object({
  valid: z.boolean(),
  reason: z.enum(['malformed', 'unknown_key', 'bad_signature']).nullable(),
  claims: Claims.nullable(),
  books: z
    .enum(['agree', 'differ', 'unknown'])
    .nullable()
    .meta({
      description:
        'Whether the hub says the same today: it differs after a refund, and is unknown within ' +
        'a second of the call.',
    }),
})

/** What the hub has signed, and how anybody can prove it. */
export const receiptRoutes = (
  pool: Pool,
  receipts: Pick<Receipts, 'keys' | 'verify'>,
): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/.well-known/jwks.json',
    summary: 'Every key that has signed receipts of this hub (RFC 7517).',
    auth: 'none',
    shared: true,
    answer: { status: 200, schema: z.object({ keys: z.array(Key) }) },
    handle: async () => ({ body: { keys: await receipts.keys() } }),
  }),
  route({
    method: 'POST',
    path: '/v1/receipts/verify',
    summary: 'Whether a receipt (X-Receipt) was signed by this hub, and what it states.',
    auth: 'none',
    body: z.strictObject({ receipt: z.string().min(1).max(8_192) }),
    answer: { status: 200, schema: Verdict },
    handle: async ({ body }) => {
      const verdict = await receipts.verify(body.receipt)
      if (!verdict.valid) {
        return { body: { valid: false, reason: verdict.reason, claims: null, books: null } }
      }
      const { claims } = verdict
      const books = await booksOf(pool, claims.jti, claims.charged_microdollars)
      return { body: { valid: true, reason: null, claims, books } }
    },
  }),
]

/** What was charged, less what was refunded since. */
async function booksOf(pool: Pool, call: string, charged: number) {
  const { rows } = await pool.query<{ agrees: boolean }>(
    `SELECT c.charged = $2 AND NOT EXISTS (
       SELECT FROM ledger.posting p JOIN hub.api_key k ON k.credits = p.account_id
       WHERE k.id = c.key_id AND p.owner = k.credits AND p.id = c.id AND p.phase IN (0, 3)
         AND p.amount > 0) AS agrees
     FROM hub.call c WHERE c.id = $1`,
    [call, charged],
  )
  const [row] = rows
  return row ? (row.agrees ? 'agree' : 'differ') : 'unknown'
}
