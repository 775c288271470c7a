import { createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto'
import { leafHash, type MerklePath, rootFrom } from './merkle-path.ts'

/** Receipt whose signature holds. */
export interface VerifiedReceipt {
  /** Id of the key that signed it. */
  readonly kid: string
  readonly claims: Readonly<Record<string, unknown>>
}

/** Proof or receipt that does not hold; the message names the part. */
export class ProofError extends Error {
  override readonly name = 'ProofError'
}

const JWS = 'agenthub-receipt+jws'
const BATCH = 'agenthub-receipt+merkle'
const HASH_BYTES = 32

/**
 * Verifies a receipt offline: the value of `X-Receipt`, or a JWS from `GET /v1/calls/{id}`.
 * @param keys of the hub, as `/.well-known/jwks.json` publishes them
 * @throws ProofError
 */
export const verifyReceipt = (receipt: string, keys: readonly JsonWebKey[]): VerifiedReceipt =>
  readReceipt(
    receipt,
    keys.map((key) => createPublicKey({ key, format: 'jwk' })),
  )

/** @throws ProofError */
export function readReceipt(receipt: string, keys: readonly KeyObject[]): VerifiedReceipt {
  const [head = '', claims = '', ...rest] = receipt.split('.')
  const [place, signature = ''] = rest.length === 2 ? rest : [undefined, ...rest]
  const payload = place === undefined ? claims : rootOfBatch(claims, place)
  const signed = Buffer.from(`${head}.${payload}`)
  const bytes = Buffer.from(signature, 'base64url')
  if (rest.length > 2 || !isCanonical(receipt) || !isSigned(signed, bytes, keys)) {
    throw new ProofError('The receipt is not signed by the hub.')
  }
  const { typ, kid } = parsePart(head)
  if (typ !== (place === undefined ? JWS : BATCH)) {
    throw new ProofError('What the hub signed is not a receipt.')
  }
  return { kid: String(kid), claims: parsePart(claims) }
}

/** Returns true if every part is the only text that encodes its bytes. */
const isCanonical = (receipt: string): boolean =>
  receipt.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)

/** Root of the batch in which the claims have a place, in base64url; empty for a wrong place. */
function rootOfBatch(claims: string, place: string): string {
  const path = readPath(Buffer.from(place, 'base64url'))
  const root = path && rootFrom(leafHash(Buffer.from(claims)), path)
  return root?.toString('base64url') ?? ''
}

/** Reads index and size, two bytes each, and the hashes after them. */
function readPath(place: Buffer): MerklePath | undefined {
  const hashes = place.subarray(4)
  if (place.length < 4 || hashes.length % HASH_BYTES !== 0) return undefined
  const siblings = Array.from({ length: hashes.length / HASH_BYTES }, (_, n) =>
    hashes.subarray(n * HASH_BYTES, (n + 1) * HASH_BYTES),
  )
  return { index: place.readUInt16BE(0), size: place.readUInt16BE(2), siblings }
}

const parsePart = (part: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))

export const isSigned = (data: Buffer, signature: Buffer, keys: readonly KeyObject[]): boolean =>
  keys.some((key) => verify(null, data, key, signature))
