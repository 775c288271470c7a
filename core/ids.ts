import { randomFillSync } from 'node:crypto'
import { sha256 } from './crypto/sha256.ts'

const randomPool = Buffer.alloc(8_192)
let poolOffset = randomPool.length

/** Takes random bytes from a pool. Use them at once: the memory is reused. */
function takeRandomBytes(count: number): Buffer {
  if (poolOffset + count > randomPool.length) {
    randomFillSync(randomPool)
    poolOffset = 0
  }
  poolOffset += count
  return randomPool.subarray(poolOffset - count, poolOffset)
}

let lastMs = 0
let counter = 0

/** Sets the version 7 and variant bits (RFC 9562 §5.7) and formats 16 bytes as a UUID. */
function formatUuid(bytes: Buffer): string {
  bytes[6] = 0x70 | (bytes[6]! & 0x0f)
  bytes[8] = 0x80 | (bytes[8]! & 0x3f)
  const hex = bytes.toString('hex')
  const [time, low] = [hex.slice(0, 8), hex.slice(8, 12)]
  return `${time}-${low}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Creates a UUID version 7 for the instant `ms`, ascending even within a millisecond. */
export function uuidv7(ms: number): string {
  const bytes = takeRandomBytes(16)
  counter = ms === lastMs ? (counter + 1) & 0xfff : bytes[7]! & 0x7f
  lastMs = ms
  bytes.writeUIntBE(ms, 0, 6)
  bytes.writeUInt16BE(counter, 6)
  return formatUuid(bytes)
}

/** Derives a UUID version 7 from `instant` and `seed`: a fact observed twice gets the same id. */
export function derivedUuid(instant: Date, seed: string): string {
  const bytes = Buffer.from(sha256(seed).subarray(0, 16))
  bytes.writeUIntBE(instant.getTime(), 0, 6)
  return formatUuid(bytes)
}

/** Instant encoded in a UUID version 7. */
export const instantOf = (id: string): Date =>
  new Date(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16))

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Encodes a number below 62^`width` in base 62, most significant digit first. */
export function base62(value: bigint, width: number): string {
  let rest = value
  let text = ''
  for (let i = 0; i < width; i++) {
    text = BASE62[Number(rest % 62n)] + text
    rest /= 62n
  }
  return text
}

/** Bytes from here on are skipped: they would favor the first digits. */
const UNBIASED_BYTES = 256 - (256 % BASE62.length)

/** Uniformly distributed random base 62 digits. */
function randomBase62(width: number): string {
  let text = ''
  while (text.length < width) {
    for (const byte of takeRandomBytes(width - text.length)) {
      if (byte < UNBIASED_BYTES) text += BASE62[byte % BASE62.length]
    }
  }
  return text
}

/** Creates a short random id with a readable prefix, such as `req_4fJ…` (about 95 random bits). */
export const prefixedId = (prefix: string): string => `${prefix}_${randomBase62(16)}`
