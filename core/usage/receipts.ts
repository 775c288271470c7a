import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Pool } from 'pg'
import { canonicalJson } from '../crypto/canonical-json.ts'
import { sha256 } from '../crypto/sha256.ts'
import type { SigningKey } from '../crypto/signing-key.ts'
import { json } from '../money.ts'
import { cachedFor, memoizeByObject } from '../runtime/cache.ts'
import type { CallRecord } from './call-records.ts'

/** Signed claims about one call. Hashes are SHA-256 in base64url. */
export interface ReceiptClaims {
  /** Origin of the hub. */
  readonly iss: string
  /** Id of the call. */
  readonly jti: string
  /** Time of the call, in Unix seconds. */
  readonly iat: number
  /** Key id, or `x402:` and the wallet that paid. */
  readonly sub: string
  /** `POST /echo/say` */
  readonly endpoint: string
  readonly price_version: number
  readonly charged_microdollars: number
  readonly source: CallRecord['source']
  readonly outcome: CallRecord['outcome']
  readonly status: number
  /** See `hashRequest`. */
  readonly request_sha256: string | null
  /** Hash of the uncompressed body; null if it was not sent completely. */
  readonly response_sha256: string | null
  /** Id of the journal entries; null if the call was not charged through the ledger. */
  readonly ledger_entry: string | null
}

/** Public key in JWKS form (RFC 8037). */
export interface Jwk {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
  readonly kid: string
  readonly alg: 'EdDSA'
  readonly use: 'sig'
}

export type ReceiptVerification =
  | { readonly valid: true; readonly claims: ReceiptClaims }
  | { readonly valid: false; readonly reason: 'malformed' | 'unknown_key' | 'bad_signature' }
const TYPE = 'agenthub-receipt+jws'
const KEYS_MS = 10_000

/** Hashes endpoint, line feed and input as canonical JSON; callers can compute it too. */
export const hashRequest = (endpoint: string, input: unknown): Buffer =>
  sha256(`${endpoint}\n${canonicalJson(input)}`)

/**
 * Signs and verifies receipts: compact JWS (RFC 7515, Ed25519 by RFC 8037) about calls. Ed25519 is
 * deterministic, so a record gives the same receipt until the key is rotated. Rotated keys stay
 * published, so that old receipts remain verifiable.
 */
export class Receipts {
  readonly #pool: Pool
  readonly #key: () => SigningKey
  readonly #issuer: () => string
  readonly #keys: () => Promise<ReadonlyMap<string, Jwk>>

  /** @param key returns the key that signs now */
  constructor(pool: Pool, key: () => SigningKey, issuer: () => string) {
    this.#pool = pool
    this.#key = key
    this.#issuer = issuer
    this.#keys = cachedFor(KEYS_MS, () => this.#readKeys())
  }

  /** @param endpoint `POST /echo/say` */
  async sign(record: CallRecord, endpoint: string): Promise<string> {
    const key = this.#key()
    const signed = `${headOf(key)}.${encodePart(claimsOf(record, endpoint, this.#issuer()))}`
    const signature = await key.sign(Buffer.from(signed))
    return `${signed}.${signature.toString('base64url')}`
  }

  /** Lists all keys that have ever signed for this hub, oldest first. */
  async keys(): Promise<readonly Jwk[]> {
    return [...(await this.#keys()).values()]
  }

  async verify(receipt: string): Promise<ReceiptVerification> {
    const [, head = '', body = '', signature = ''] = COMPACT_JWS.exec(receipt) ?? []
    const { alg, typ, kid } = (decodePart(head) ?? {}) as {
      alg?: string
      typ?: string
      kid?: string
    }
    const claims = decodePart(body)
    const isReceipt = alg === 'EdDSA' && typ === TYPE && typeof kid === 'string' && claims
    if (!isReceipt) return { valid: false, reason: 'malformed' }
    const jwk = (await this.#keys()).get(kid)
    if (!jwk) return { valid: false, reason: 'unknown_key' }
    const bytes = Buffer.from(signature, 'base64url')
    const isValid = verify(null, Buffer.from(`${head}.${body}`), toKeyObject(jwk), bytes)
    if (!isValid) return { valid: false, reason: 'bad_signature' }
    return { valid: true, claims: claims as ReceiptClaims }
  }

  async #readKeys(): Promise<ReadonlyMap<string, Jwk>> {
    const { rows } = await this.#pool.query<{ id: string; public_key: Buffer }>(
      'SELECT id, public_key FROM ledger.signing_key ORDER BY since, id',
    )
    const keys = new Map(rows.map(({ id, public_key }) => [id, toJwk(id, public_key)]))
    const { id: current, publicKey } = this.#key()
    if (!keys.has(current)) keys.set(current, toJwk(current, publicKey))
    return keys
  }
}

/** Publishes the hub's signing key for verifiers. */
export const publishSigningKey = (pool: Pool, { id, publicKey }: SigningKey): Promise<unknown> =>
  pool.query('SELECT ledger.add_signing_key($1, $2)', [id, publicKey])

const COMPACT_JWS = /^([\w-]{1,500})\.([\w-]{1,6000})\.([\w-]{86})$/

const encodePart = (value: unknown): string =>
  Buffer.from(JSON.stringify(value)).toString('base64url')

/** Encoded JWS header, the same for every receipt of a key. */
const headOf = memoizeByObject(({ id: kid }: SigningKey) =>
  encodePart({ alg: 'EdDSA', kid, typ: TYPE }),
)

function decodePart(text: string): unknown {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

const claimsOf = (record: CallRecord, endpoint: string, iss: string): ReceiptClaims => ({
  iss,
  jti: record.id,
  iat: Number(BigInt(record.at.getTime()) / 1_000n),
  sub: record.keyId ?? record.principal,
  endpoint,
  price_version: record.priceVersion,
  charged_microdollars: json(record.charged),
  source: record.source,
  outcome: record.outcome,
  status: record.status,
  request_sha256: base64url(record.requestHash),
  response_sha256: base64url(record.responseHash),
  ledger_entry: record.entry,
})

const base64url = (hash: Buffer | null): string | null => hash && hash.toString('base64url')

const toJwk = (kid: string, publicKey: Buffer): Jwk => ({
  kty: 'OKP',
  crv: 'Ed25519',
  x: publicKey.toString('base64url'),
  kid,
  alg: 'EdDSA',
  use: 'sig',
})

const toKeyObject = ({ kty, crv, x }: Jwk): KeyObject =>
  createPublicKey({ key: { kty, crv, x }, format: 'jwk' })
