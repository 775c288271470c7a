import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Signer } from './signer.ts'

/** The hub's own Ed25519 key. What it signed can be held against the hub. */
export interface SigningKey {
  /** Its JWK thumbprint (RFC 7638, base64url): the same key always has the same name. */
  readonly id: string
  /** The 32 bytes of the public key (RFC 8032). */
  readonly publicKey: Buffer
  /** The 64 bytes of a signature. Many at once are made in a thread. */
  sign(bytes: Uint8Array): Promise<Buffer>
  /** 32 secret bytes that follow from the key, other ones for each purpose (HKDF, RFC 5869). */
  secretFor(purpose: string): Buffer
}

const FILE = 'signing-key'

/**
 * Reads a private key: PKCS#8 in DER, as base64 on one line.
 * @throws Error for anything else; the message repeats nothing of it
 */
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

/**
 * The key that the configuration names; without one, in the sandbox, that of the data directory,
 * which is made when first asked for and readable by its owner alone.
 */
export async function loadSigningKey(config: {
  readonly signingKey: KeyObject | undefined
  readonly dataDir: string
}): Promise<SigningKey> {
  return signingKeyOf(config.signingKey ?? (await keyOfDirectory(config.dataDir)))
}

/** Wraps an Ed25519 private key. */
export function signingKeyOf(key: KeyObject): SigningKey {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  const signer = new Signer(key)
  const thumbprint = JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x })
  return Object.freeze({
    id: createHash('sha256').update(thumbprint).digest('base64url'),
    publicKey: Buffer.from(x, 'base64url'),
    sign: (bytes: Uint8Array) => signer.sign(bytes),
    secretFor: (purpose: string) =>
      Buffer.from(
        hkdfSync('sha256', key.export({ format: 'der', type: 'pkcs8' }), '', purpose, 32),
      ),
  })
}

async function keyOfDirectory(dataDir: string): Promise<KeyObject> {
  const file = join(dataDir, FILE)
  const known = await readFile(file, 'utf8').catch(absent)
  if (known !== undefined) return parseSigningKey(known)
  await mkdir(dataDir, { recursive: true })
  const part = `${file}.${randomUUID()}`
  const { privateKey } = generateKeyPairSync('ed25519')
  const text = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')
  await writeFile(part, `${text}\n`, { mode: 0o600 })
  try {
    await link(part, file) // appears whole, and never over the key of another process
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(part, { force: true })
  }
  return parseSigningKey(await readFile(file, 'utf8'))
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
