import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Pool } from 'pg'
import { BatchSigner, readPlace } from '../crypto/batch-signer.ts'
import { canonicalJson } from '../crypto/canonical-json.ts'
import { leafHash, rootFromPath } from '../crypto/merkle.ts'
import { sha256 } from '../crypto/sha256.ts'
import { type Jwk, type SigningKey, toJwk } from '../crypto/signing-key.ts'
import { json } from '../money.ts'
import { cachedFor, memoizeByObject } from '../runtime/cache.ts'
import type { CallRecord } from './call-records.ts'
import { showUsage, type UsageView } from './usage-view.ts'

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
  /** Only for a metered price: `quantity` units at `price_microdollars` for `per` units. */
  readonly usage?: UsageView
}

/** Public key by which others verify receipts (RFC 8037). */
export interface ReceiptKey extends Jwk {
  readonly alg: 'EdDSA'
}

export type ReceiptVerification =
  | { readonly valid: true; readonly claims: ReceiptClaims }
  | { readonly valid: false; readonly reason: 'malformed' | 'unknown_key' | 'bad_signature' }
/** `jws`: signed on its own. `batch`: signed with receipts of calls that ended at the same time. */
export type ReceiptForm = 'jws' | 'batch'

const TYPES = { jws: 'agenthub-receipt+jws', batch: 'agenthub-receipt+merkle' } as const
const KEYS_MS = 10_000

/** Hashes endpoint, line feed and input as canonical JSON; callers can compute it too. */
export const hashRequest = (endpoint: string, input: unknown): Buffer =>
  sha256(`${endpoint}\n${canonicalJson(input)}`)

/**
 * Signs and verifies receipts about calls (Ed25519). A receipt of the form `jws` is a compact JWS
 * (RFC 7515, RFC 8037). Receipts of calls that end together share a signature:
 *
 *     <header>.<claims>.<place>.<signature>     parts in base64url
 *     header      {"alg":"EdDSA","kid":…,"typ":"agenthub-receipt+merkle"}
 *     place       index and size of the batch, 2 bytes each, and the path: at most 10 hashes
 *     signature   of `<header>.<root>`, a JWS whose payload is the root
 *
 * The root is that of the Merkle tree (RFC 6962) whose leaf number `index` is the part `claims`.
 * Ed25519 is deterministic, so a record gives the same JWS until the key is rotated. Rotated keys
 * stay published, so that old receipts remain verifiable.
 */
export class Receipts {
  readonly #pool: Pool
  readonly #key: () => SigningKey
  readonly #issuer: () => string
  readonly #keys: () => Promise<ReadonlyMap<string, ReceiptKey>>
  readonly #batches: BatchSigner

  /** @param key returns the key that signs now */
  constructor(pool: Pool, key: () => SigningKey, issuer: () => string) {
    this.#pool = pool
    this.#key = key
    this.#issuer = issuer
    this.#keys = cachedFor(KEYS_MS, () => this.#readKeys())
    this.#batches = new BatchSigner(key, (signer, root) =>
      Buffer.from(`${headOf(signer).batch}.${root.toString('base64url')}`),
    )
  }

  /** @param endpoint `POST /echo/say` */
  async sign(record: CallRecord, endpoint: string, form: ReceiptForm = 'jws'): Promise<string> {
    const claims = encodePart(claimsOf(record, endpoint, this.#issuer()))
    if (form === 'batch') {
      const { key, place, signature } = await this.#batches.sign(claims)
      const parts = [headOf(key).batch, claims, place.toString('base64url')]
      return `${parts.join('.')}.${signature.toString('base64url')}`
    }
    const key = this.#key()
    const signed = `${headOf(key).jws}.${claims}`
    return `${signed}.${key.sign(Buffer.from(signed)).toString('base64url')}`
  }

  /** Lists all keys that have ever signed for this hub, oldest first. */
  async keys(): Promise<readonly ReceiptKey[]> {
    return [...(await this.#keys()).values()]
  }

  async verify(receipt: string): Promise<ReceiptVerification> {
    const { kid, claims, signed, signature } = parseReceipt(receipt) ?? {}
    if (!kid || !claims || !signature) return { valid: false, reason: 'malformed' }
    const jwk = (await this.#keys()).get(kid)
    if (!jwk) return { valid: false, reason: 'unknown_key' }
    const isValid = signed !== undefined && verify(null, signed, toKeyObject(jwk), signature)
    if (!isValid) return { valid: false, reason: 'bad_signature' }
    return { valid: true, claims: claims as ReceiptClaims }
  }

  async #readKeys(): Promise<ReadonlyMap<string, ReceiptKey>> {
    const { rows } = await this.#pool.query<{ id: string; public_key: Buffer }>(
      'SELECT id, public_key FROM ledger.signing_key ORDER BY since, id',
    )
    const keys = new Map(rows.map(({ id, public_key }) => [id, receiptKeyOf(id, public_key)]))
    const { id: current, publicKey } = this.#key()
    if (!keys.has(current)) keys.set(current, receiptKeyOf(current, publicKey))
    return keys
  }
}

/** Publishes the hub's signing key for verifiers. */
export const publishSigningKey = (pool: Pool, { id, publicKey }: SigningKey): Promise<unknown> =>
  pool.query('SELECT ledger.add_signing_key($1, $2)', [id, publicKey])

const RECEIPT = /^([\w-]{1,500})\.([\w-]{1,6000})\.(?:([\w-]{6,433})\.)?([\w-]{86})$/

/**
 * Parses a receipt of either form. `signed` is what its signature must be of; undefined if the path
 * of a batch does not fit its size. Returns undefined if the receipt is malformed.
 */
function parseReceipt(receipt: string) {
  const [, head = '', body = '', place, signature = ''] = RECEIPT.exec(receipt) ?? []
  const { alg, typ, kid } = (decodePart(head) ?? {}) as Readonly<Record<string, unknown>>
  const claims = decodePart(body)
  const type = place === undefined ? TYPES.jws : TYPES.batch
  if (alg !== 'EdDSA' || typ !== type || typeof kid !== 'string' || !claims) return undefined
  if (![head, body, place ?? '', signature].every(isCanonical)) return undefined
  const payload = place === undefined ? body : rootOf(body, Buffer.from(place, 'base64url'))
  const signed = payload === undefined ? undefined : Buffer.from(`${head}.${payload}`)
  return { kid, claims, signed, signature: Buffer.from(signature, 'base64url') }
}

/** Returns true if no other text encodes the same bytes; the last character may have spare bits. */
const isCanonical = (part: string): boolean =>
  Buffer.from(part, 'base64url').toString('base64url') === part

/** Root of the batch to which a place leads from the claims, in base64url. */
function rootOf(claims: string, bytes: Buffer): string | undefined {
  const place = readPlace(bytes)
  const leaf = leafHash(claims)
  const root = place && rootFromPath(place.size, { ...place, leaf })
  return root && Buffer.from(root).toString('base64url')
}

const encodePart = (value: unknown): string =>
  Buffer.from(JSON.stringify(value)).toString('base64url')

/** Encoded headers, the same for all receipts of a key. */
const headOf = memoizeByObject(({ id: kid }: SigningKey) => ({
  jws: encodePart({ alg: 'EdDSA', kid, typ: TYPES.jws }),
  batch: encodePart({ alg: 'EdDSA', kid, typ: TYPES.batch }),
}))

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
  ...(record.usage && { usage: showUsage(record.usage) }),
})

const base64url = (hash: Buffer | null): string | null => hash && hash.toString('base64url')

const receiptKeyOf = (kid: string, publicKey: Buffer): ReceiptKey => ({
  ...toJwk(kid, publicKey),
  alg: 'EdDSA',
})

const toKeyObject = ({ kty, crv, x }: Jwk): KeyObject =>
  createPublicKey({ key: { kty, crv, x }, format: 'jwk' })
