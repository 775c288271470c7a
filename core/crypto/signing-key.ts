import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  hkdfSync,
  type KeyObject,
  randomUUID,
  sign,
} from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Ed25519 key of the hub, which signs receipts and checkpoints. */
export interface SigningKey {
  /** JWK thumbprint (RFC 7638, base64url): the same key always has the same id. */
  readonly id: string
  /** Public key, 32 bytes (RFC 8032). */
  readonly publicKey: Buffer
  /** Returns the 64-byte signature. */
  sign(bytes: Uint8Array): Buffer
  /** Private key in PKCS#8 (DER). */
  readonly privateBytes: Buffer
  /** Derives a 32-byte secret for a purpose (HKDF, RFC 5869). */
  deriveSecret(purpose: string): Buffer
}

const FILE = 'signing-key'

/** Parses private keys, separated by commas. @throws Error without key material */
export const parseSigningKeys = (text: string): readonly KeyObject[] =>
  text.split(',').map((part) => parseSigningKey(part.trim()))

/** Parses a private key: PKCS#8 in DER, base64. @throws Error without key material */
export function parseSigningKey(text: string): KeyObject {
  const wrong = 'not a signing key: base64 of an Ed25519 private key in PKCS#8 (DER)'
  try {
    const key = createPrivateKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'pkcs8' })
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    throw new Error(wrong)
  }
  throw new Error(wrong)
}

/** Returns the configured keys; in a sandbox without one, a key stored in the data directory. */
export async function loadSigningKeys({
  signingKeys: [configured, ...previous],
  dataDir,
}: {
  readonly signingKeys: readonly KeyObject[]
  readonly dataDir: string
}): Promise<readonly [SigningKey, ...SigningKey[]]> {
  const current = configured ?? (await keyFromDirectory(dataDir))
  return [signingKeyOf(current), ...previous.map((key) => signingKeyOf(key))]
}

/** Wraps an Ed25519 private key. */
export function signingKeyOf(key: KeyObject): SigningKey {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  return Object.freeze({
    id: thumbprintOf(x),
    publicKey: Buffer.from(x, 'base64url'),
    sign: (bytes: Uint8Array) => sign(null, bytes, key),
    get privateBytes() {
      return key.export({ format: 'der', type: 'pkcs8' })
    },
    deriveSecret: (purpose: string) =>
      deriveSecret(key.export({ format: 'der', type: 'pkcs8' }), purpose),
  })
}

/** Public key by which others verify signatures (RFC 8037). */
export interface Jwk {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly kid: string
  /** In base64url. */
  readonly x: string
  readonly use: 'sig'
}

export const toJwk = (kid: string, publicKey: Buffer): Jwk => ({
  kty: 'OKP',
  crv: 'Ed25519',
  kid,
  x: publicKey.toString('base64url'),
  use: 'sig',
})

/** Returns the JWK thumbprint (RFC 7638) of an Ed25519 public key. @param x in base64url */
export const thumbprintOf = (x: string): string =>
  hash('sha256', JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }), 'base64url')

/** Derives a 32-byte secret for a purpose (HKDF, RFC 5869). */
export const deriveSecret = (material: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', material, '', purpose, 32))

async function keyFromDirectory(dataDir: string): Promise<KeyObject> {
  const file = join(dataDir, FILE)
  const known = await readFile(file, 'utf8').catch(ignoreMissing)
  if (known !== undefined) return parseSigningKey(known)
  await mkdir(dataDir, { recursive: true })
  const part = `${file}.${randomUUID()}`
  const { privateKey } = generateKeyPairSync('ed25519')
  const text = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')
  await writeFile(part, `${text}\n`, { mode: 0o600 })
  try {
    await link(part, file) // atomic, and never replaces the key of another process
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(part, { force: true })
  }
  return parseSigningKey(await readFile(file, 'utf8'))
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
