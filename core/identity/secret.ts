import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { ClientBase } from 'pg'
import { sha256 } from '../crypto/sha256.ts'
import { base62 } from '../ids.ts'

const SECRET_DIGITS = 43
const CHECK_DIGITS = 6
const SHAPE = /^ahk_[0-9A-Za-z]{49}$/
const PREFIX_LENGTH = 12

/** New key with its secret. */
export interface NewKey {
  readonly keyId: string
  /** Shown only once; the database stores its hash. */
  readonly apiKey: string
}

/** Generates `ahk_`, 256 random bits in base 62, and a checksum that detects typing errors. */
export function generateKey(): string {
  const secret = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_DIGITS)
  return `ahk_${secret}${checksum(secret)}`
}

/** Hashes a key for lookup. A key has 256 random bits, so a fast hash is enough. */
export const hashKey = (key: string): Buffer => sha256(key)

/** Returns the part of a key that may be shown, to recognize it. */
export const keyPrefix = (key: string): string => key.slice(0, PREFIX_LENGTH)

const checksum = (secret: string): string => base62(BigInt(crc32(secret)), CHECK_DIGITS)

/** True if format and checksum are valid, so that a mistyped key costs no database lookup. */
export const isWellFormed = (key: string): boolean =>
  SHAPE.test(key) && checksum(key.slice(4, 4 + SECRET_DIGITS)) === key.slice(4 + SECRET_DIGITS)

/** Generates a secret for a key and stores its hash. */
export async function issueSecret(client: ClientBase, keyId: string): Promise<NewKey> {
  const apiKey = generateKey()
  await client.query('INSERT INTO hub.key_secret (hash, key, prefix) VALUES ($1, $2, $3)', [
    hashKey(apiKey),
    keyId,
    keyPrefix(apiKey),
  ])
  return { keyId, apiKey }
}
