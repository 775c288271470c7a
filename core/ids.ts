import { createHash, randomFillSync } from 'node:crypto'

const pool = Buffer.alloc(8_192)
let used = pool.length

/** So many random bytes, out of a stock. They are to be used at once. */
function randomOf(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += count
  return pool.subarray(used - count, used)
}

let lastMs = 0
let counter = 0

/** Sixteen bytes into the usual text, with version 7 and variant bits set (RFC 9562 §5.7). */
function format(bytes: Buffer): string {
  bytes[6] = 0x70 | (bytes[6]! & 0x0f)
  bytes[8] = 0x80 | (bytes[8]! & 0x3f)
  const hex = bytes.toString('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-')
}

/**
 * A UUID version 7 for the instant `ms`. Ids made in the same millisecond by one process still
 * ascend, so that journal rows arrive at the right edge of their index.
 */
export function uuidv7(ms: number): string {
  const bytes = Buffer.from(randomOf(16))
  counter = ms === lastMs ? (counter + 1) & 0xfff : bytes[7]! & 0x7f
  lastMs = ms
  bytes.writeUIntBE(ms, 0, 6)
  bytes.writeUInt16BE(counter, 6)
  return format(bytes)
}

/** The one UUID version 7 that `instant` and `seed` always give: facts seen twice share an id. */
export function derivedUuid(instant: Date, seed: string): string {
  const bytes = Buffer.from(createHash('sha256').update(seed).digest().subarray(0, 16))
  bytes.writeUIntBE(instant.getTime(), 0, 6)
  return format(bytes)
}

/** When a UUID version 7 was made. */
export const instantOf = (id: string): Date =>
  new Date(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16))

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** A number below 62^`width` in base 62, most significant digit first. */
export function base62(value: bigint, width: number): string {
  let rest = value
  let text = ''
  for (let i = 0; i < width; i++) {
    text = BASE62[Number(rest % 62n)] + text
    rest /= 62n
  }
  return text
}

const EVEN = 256 - (256 % BASE62.length)

/** Random digits in base 62, all of them alike likely. */
function randomDigits(width: number): string {
  let text = ''
  while (text.length < width) {
    for (const byte of randomOf(width - text.length)) {
      if (byte < EVEN) text += BASE62[byte % BASE62.length]
    }
  }
  return text
}

/** A short random identifier with a readable prefix, such as `req_4fJ…` (about 95 random bits). */
export const prefixedId = (prefix: string): string => `${prefix}_${randomDigits(16)}`
