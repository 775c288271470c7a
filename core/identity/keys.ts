import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Pool } from 'pg'
import { elapsedMs } from '../clock.ts'
import { Fault } from '../errors.ts'
import { base62 } from '../ids.ts'
import type { AccountRef } from '../ledger/ledger.ts'
import { creditsOf } from '../ledger/postings.ts'

const SECRET_DIGITS = 43
const CHECK_DIGITS = 6
const SHAPE = /^ahk_[0-9A-Za-z]{49}$/
const PREFIX_LENGTH = 12
/** A revocation takes effect within this time on every instance. */
const CACHE_MS = 1_000
const CACHE_MAX = 10_000

/** Who calls, as every door and step needs it. */
export interface Caller {
  readonly principal: string
  readonly keyId: string
  readonly wallet: string | null
  readonly credits: AccountRef
}

/** `ahk_`, 256 random bits in base 62, and a checksum that tells typing errors from wrong keys. */
export function generateKey(): string {
  const secret = base62(BigInt(`0x${randomBytes(32).toString('hex')}`), SECRET_DIGITS)
  return `ahk_${secret}${checksum(secret)}`
}

/** The digest by which a key is found. A key has 256 random bits, so a fast hash is enough. */
export const hashOf = (key: string): Buffer => createHash('sha256').update(key).digest()

/** The part of a key that may be shown, to tell it from others. */
export const prefixOf = (key: string): string => key.slice(0, PREFIX_LENGTH)

const checksum = (secret: string): string => base62(BigInt(crc32(secret)), CHECK_DIGITS)

const isWellFormed = (key: string): boolean =>
  SHAPE.test(key) && checksum(key.slice(4, 4 + SECRET_DIGITS)) === key.slice(4 + SECRET_DIGITS)

interface KeyRow {
  readonly id: string
  readonly principal: string
  readonly wallet_address: string | null
  readonly credits: bigint
  readonly shard: number
  readonly revoked: boolean
}

/** Finds callers by their keys, with a cache of one second. */
export class KeyRing {
  readonly #pool: Pool
  readonly #known = new Map<string, { readonly caller: Caller | 'revoked'; readonly at: number }>()

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /**
   * The caller of a request, by its Authorization header (RFC 6750).
   * @throws Fault `invalid_api_key` (malformed, unknown) or `revoked_api_key`
   */
  async authenticate(authorization: string): Promise<Caller> {
    const key = /^Bearer ([^\s]{1,200})$/i.exec(authorization)?.[1]
    if (key === undefined || !isWellFormed(key)) throw invalid()
    const hash = hashOf(key)
    const caller = await this.#find(hash)
    if (!caller) throw invalid()
    if (caller === 'revoked') throw new Fault('revoked_api_key', undefined, CHALLENGE)
    return caller
  }

  async #find(hash: Buffer): Promise<Caller | 'revoked' | undefined> {
    const index = hash.toString('base64')
    const known = this.#known.get(index)
    if (known && elapsedMs() - known.at < CACHE_MS) return known.caller
    const at = elapsedMs()
    const { rows } = await this.#pool.query<KeyRow>(
      `SELECT k.id, k.principal, p.wallet_address, k.credits, p.shard,
         k.revoked_at IS NOT NULL AS revoked
       FROM hub.api_key k JOIN hub.principal p ON p.id = k.principal WHERE k.hash = $1`,
      [hash],
    )
    const [row] = rows
    if (!row) return undefined
    const caller = row.revoked ? 'revoked' : callerOf(row)
    if (this.#known.size >= CACHE_MAX) this.#known.clear()
    this.#known.set(index, { caller, at })
    return caller
  }
}

function callerOf(row: KeyRow): Caller {
  const code = creditsOf(row.id)
  return {
    principal: row.principal,
    keyId: row.id,
    wallet: row.wallet_address,
    credits: { id: row.credits, code, asset: 'USDC', shard: row.shard },
  }
}

/** RFC 9110 §15.5.2: a 401 says how to authenticate. */
const CHALLENGE = {
  headers: { 'WWW-Authenticate': 'Bearer realm="hub", error="invalid_token"' },
} as const

const invalid = (): Fault => new Fault('invalid_api_key', undefined, CHALLENGE)
