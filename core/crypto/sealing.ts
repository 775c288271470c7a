import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16

/**
 * Encrypts a value for the database. The purpose is authenticated, so that a sealed value cannot be
 * moved to another place.
 * @param secret 32 bytes
 */
export function seal(secret: Buffer, purpose: string, plain: Buffer): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, secret, iv).setAAD(Buffer.from(purpose))
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** @throws Error for a wrong secret, a wrong purpose or a changed byte */
export function unseal(secret: Buffer, purpose: string, sealed: Buffer): Buffer {
  const end = sealed.length - TAG_BYTES
  const decipher = createDecipheriv(CIPHER, secret, sealed.subarray(0, IV_BYTES))
    .setAAD(Buffer.from(purpose))
    .setAuthTag(sealed.subarray(end))
  return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, end)), decipher.final()])
}

/** Named encryption key; the name is stored next to each sealed value. */
export interface SealingKey {
  readonly id: string
  readonly secret: Buffer
}

/** Reads `id:base64,…`. @throws Error for any other format, without key material */
export function parseSealingKeys(text: string): readonly SealingKey[] {
  const parts = text.split(',').flatMap((part) => part.trim() || [])
  const keys = parts.map((part) => {
    const [, id = '', base64 = ''] = /^([A-Za-z0-9_-]{1,64}):([A-Za-z0-9+/_=-]+)$/.exec(part) ?? []
    return { id, secret: Buffer.from(base64, 'base64') }
  })
  if (keys.some(({ id, secret }) => id === '' || secret.length !== KEY_BYTES)) {
    throw new Error('not a list of id:key, where each key is base64 of 32 bytes')
  }
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw new Error('has an id twice')
  return keys
}

/** Rotating encryption keys: the first seals, all of them open. */
export class SealingKeys {
  readonly #keys: () => readonly SealingKey[]

  /** @param keys at least one key; a function if they change while the process runs */
  constructor(keys: readonly [SealingKey, ...SealingKey[]] | (() => readonly SealingKey[])) {
    this.#keys = typeof keys === 'function' ? keys : () => keys
  }

  /** Id of the key that seals. */
  get currentId(): string {
    return this.#keys()[0]!.id
  }

  seal(purpose: string, text: string): { readonly keyId: string; readonly sealed: Buffer } {
    const { id, secret } = this.#keys()[0]!
    return { keyId: id, sealed: seal(secret, purpose, Buffer.from(text)) }
  }

  /** @throws Error if the key is missing or the purpose differs */
  open(purpose: string, keyId: string, sealed: Buffer): string {
    const key = this.#keys().find(({ id }) => id === keyId)
    if (!key) throw new Error(`there is no key "${keyId}"`)
    return unseal(key.secret, purpose, sealed).toString('utf8')
  }
}
