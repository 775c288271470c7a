import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { sha256 } from '../crypto/sha256.ts'
import { base62 } from '../ids.ts'

const SECRET_DIGITS = 43
const CHECK_DIGITS = 6
const SHAPE = /^ahk_[0-9A-Za-z]{49}$/
const PREFIX_LENGTH = 12

/** A key as it is handed out. */
export interface NewSecret {
  readonly keyId: string
  /** Shown this once; only its hash is kept. */
  readonly apiKey: string
}

/** `ahk_`, 256 random bits in base 62, and a checksum that tells typing errors from wrong keys. */
export function generateKey(): string {
  const secret = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_DIGITS)
  return `ahk_${secret}${checksum(secret)}`
}

/** The digest by which a key is found. A key has 256 random bits, so a fast hash is enough. */
export const hashOf = (key: string): Buffer => sha256(key)

/** The part of a key that may be shown, to tell it from others. */
export const prefixOf = (key: string): string => key.slice(0, PREFIX_LENGTH)

const checksum = (secret: string): string => base62(BigInt(crc32(secret)), CHECK_DIGITS)

/** Whether its checksum is right: typing errors cost no look-up. */
export const isWellFormed = (key: string): boolean =>
  SHAPE.test(key) && checksum(key.slice(4, 4 + SECRET_DIGITS)) === key.slice(4 + SECRET_DIGITS)

/** Hash, key, prefix. */
export const ADD_SECRET = 'INSERT INTO hub.key_secret (hash, key, prefix) VALUES ($1, $2, $3)'
