import { createHmac, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { ConfigError } from '../runtime/config-error.ts'

/** Maximum accepted cost of scrypt, which takes a KiB each: the manifest is not verified before. */
const SCRYPT_COST_MAX = 1_048_576

const part = z.object({ path: z.string(), bytes: z.number(), sha256: z.string() })
const body = z.object({
  format: z.literal(1),
  name: z.string(),
  at: z.string(),
  version: z.string(),
  postgres: z.object({ version: z.string(), major: z.number(), superuser: z.string() }),
  database: z.string(),
  migrations: z.object({ count: z.number(), newest: z.string() }),
  ledger: z.object({
    id: z.string(),
    heads: z.array(z.object({ shard: z.number(), seq: z.string() })),
  }),
  wal: z.object({ start: z.string(), end: z.string() }),
  /** Size of the server's files before compression. */
  bytes: z.number(),
  parts: z.object({ files: z.array(part), database: z.array(part) }),
  encryption: z.object({
    salt: z.string(),
    cost: z.int().max(SCRYPT_COST_MAX),
    check: z.string(),
  }),
})
const signed = body.extend({ mac: z.string() })

/**
 * Contents of a backup: what was backed up, and the checksum of each part. It is written last, so
 * that a backup without it is incomplete.
 */
export type Manifest = z.infer<typeof body>

/** Keys derived from the passphrase of a backup. */
export interface BackupKeys {
  readonly encryption: Manifest['encryption']
  /** Encrypts parts. */
  readonly seal: Buffer
  /** Authenticates the manifest. */
  readonly mac: Buffer
}

export const MANIFEST = 'manifest.json'
const SCRYPT_COST = 131_072
const KEY_BYTES = 32

/** Derives keys for a new backup. */
export async function createKeys(passphrase: string): Promise<BackupKeys> {
  const salt = randomBytes(KEY_BYTES).toString('base64')
  return deriveKeys(passphrase, { salt, cost: SCRYPT_COST })
}

async function deriveKeys(
  passphrase: string,
  { salt, cost }: Pick<Manifest['encryption'], 'salt' | 'cost'>,
): Promise<BackupKeys> {
  const options: ScryptOptions = { N: cost, r: 8, p: 1, maxmem: 2_048 * cost }
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    scrypt(passphrase, Buffer.from(salt, 'base64'), 2 * KEY_BYTES, options, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
  const mac = bytes.subarray(KEY_BYTES)
  const check = createHmac('sha256', mac).update('agenthub backup passphrase').digest('base64')
  return { encryption: { salt, cost, check }, seal: bytes.subarray(0, KEY_BYTES), mac }
}

export function writeManifest(manifest: Manifest, { mac }: BackupKeys): Buffer {
  return Buffer.from(JSON.stringify({ ...manifest, mac: macOf(manifest, mac) }, null, 2))
}

const macOf = (manifest: Manifest, key: Buffer): string =>
  createHmac('sha256', key)
    .update(JSON.stringify(body.parse(manifest))) // in the order of the schema
    .digest('base64')

/**
 * Reads a manifest, and derives the keys of its backup.
 * @throws ConfigError if it is damaged, the passphrase is wrong, or it was altered
 */
export async function readManifest(
  text: Buffer,
  passphrase: string,
): Promise<{ readonly manifest: Manifest; readonly keys: BackupKeys }> {
  const { mac, ...manifest } = parseManifest(text)
  const keys = await deriveKeys(passphrase, manifest.encryption)
  if (keys.encryption.check !== manifest.encryption.check) {
    throw new ConfigError('The passphrase is not the one of this backup.')
  }
  const [expected, found] = [macOf(manifest, keys.mac), mac].map((each) => Buffer.from(each))
  if (expected!.length === found!.length && timingSafeEqual(expected!, found!)) {
    return { manifest, keys }
  }
  throw new ConfigError('The manifest of the backup was altered.')
}

function parseManifest(text: Buffer): z.infer<typeof signed> {
  try {
    return signed.parse(JSON.parse(text.toString('utf8')))
  } catch (cause) {
    throw new ConfigError(
      'The manifest of the backup is damaged, or was made by a newer version of the hub.',
      { cause },
    )
  }
}
