import type { Pool } from 'pg'
import { z } from 'zod'
import { didOf } from '../../../core/payments/receiving/offer-signer.ts'
import type { ReceiptKey, Receipts } from '../../../core/usage/receipts.ts'
import { type AnyRoute, route } from '../route.ts'

const PublicKey = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string(),
  kid: z.string(),
  alg: z.literal('EdDSA'),
  use: z.literal('sig'),
})

const hash = z.string().nullable().meta({ description: 'SHA-256 as base64url.' })

const Claims = z.looseObject({
  iss: z.string(),
  jti: z.string().meta({ description: 'Call id.' }),
  iat: z.int().meta({ description: 'Unix time in seconds.' }),
  sub: z.string().meta({ description: 'Key id, or x402: followed by the paying wallet.' }),
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

const Verification = z.object({
  valid: z.boolean(),
  reason: z.enum(['malformed', 'unknown_key', 'bad_signature']).nullable(),
  claims: Claims.nullable(),
  books: z
    .enum(['agree', 'differ', 'unknown'])
    .nullable()
    .meta({
      description:
        'Comparison with the ledger today: differ after a refund, unknown within a second of ' +
        'the call.',
    }),
})

const DidDocument = z.object({
  '@context': z.array(z.string()),
  id: z.string(),
  verificationMethod: z.array(
    z.object({
      id: z.string(),
      type: z.literal('JsonWebKey2020'),
      controller: z.string(),
      publicKeyJwk: PublicKey,
    }),
  ),
  assertionMethod: z.array(z.string()),
})

/** DID document (`did:web`), by which verifiers of x402 offers and receipts find the keys. */
function didDocument(did: string, keys: readonly ReceiptKey[]): z.input<typeof DidDocument> {
  const idOf = ({ kid }: ReceiptKey): string => `${did}#${kid}`
  return {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'],
    id: did,
    verificationMethod: keys.map((key) => ({
      id: idOf(key),
      type: 'JsonWebKey2020',
      controller: did,
      publicKeyJwk: key,
    })),
    assertionMethod: keys.map(idOf),
  }
}

export const receiptRoutes = (
  pool: Pool,
  receipts: Pick<Receipts, 'keys' | 'verify'>,
  origin: () => string,
): readonly AnyRoute[] => [
  route('GET /.well-known/jwks.json', {
    summary: 'Returns all public keys that have signed receipts of this hub (RFC 7517).',
    auth: 'none',
    shared: true,
    response: { status: 200, schema: z.object({ keys: z.array(PublicKey) }) },
    handle: async () => ({ body: { keys: await receipts.keys() } }),
  }),
  route('GET /.well-known/did.json', {
    summary: 'Returns the DID document of this hub: the keys of its signed offers and receipts.',
    auth: 'none',
    shared: true,
    response: { status: 200, schema: DidDocument },
    handle: async () => ({ body: didDocument(didOf(origin()), await receipts.keys()) }),
  }),
  route('POST /v1/receipts/verify', {
    summary: 'Verifies the signature of a receipt (X-Receipt) and returns its claims.',
    auth: 'none',
    body: z.strictObject({ receipt: z.string().min(1).max(8_192) }),
    repeatable: true,
    response: { status: 200, schema: Verification },
    handle: async ({ body }) => {
      const verdict = await receipts.verify(body.receipt)
      if (!verdict.valid) {
        return { body: { valid: false, reason: verdict.reason, claims: null, books: null } }
      }
      const { claims } = verdict
      const books = await compareWithLedger(pool, claims.jti, claims.charged_microdollars)
      return { body: { valid: true, reason: null, claims, books } }
    },
  }),
]

/** Compares a receipt with the recorded charge; `differ` if the call has been refunded. */
async function compareWithLedger(pool: Pool, call: string, charged: number) {
  const { rows } = await pool.query<{ agrees: boolean }>(
    `SELECT c.charged = $2 AND NOT EXISTS (SELECT 1 FROM hub.api_key k
       CROSS JOIN LATERAL ledger.entries_of(ARRAY[k.credits], ARRAY[c.id]) j
       CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l
       WHERE k.id = c.key_id AND j.phase IN (0, 3) AND l.account = k.credits AND l.amount > 0)
         AS agrees
     FROM hub.call c WHERE c.id = $1`,
    [call, charged],
  )
  const [row] = rows
  return row ? (row.agrees ? 'agree' : 'differ') : 'unknown'
}
