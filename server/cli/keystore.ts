import {
  createCipheriv,
  createDecipheriv,
  randomBytes,
  randomUUID,
  scrypt,
  timingSafeEqual,
} from 'node:crypto'
import { promisify } from 'node:util'
import { keccak256 } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { z } from 'zod'
import { Failure } from './failure.ts'

/** An encrypted private key: Web3 Secret Storage, version 3, as geth and Foundry write it. */
export type Keystore = z.infer<typeof Keystore>

const hex = (bytes?: number) =>
  z
    .string()
    .regex(
      bytes === undefined ? /^(?:[0-9a-f]{2})+$/i : new RegExp(`^[0-9a-f]{${2 * bytes}}$`, 'i'),
    )
const Crypto = z.object({
  cipher: z.literal('aes-128-ctr'),
  ciphertext: hex(32),
  cipherparams: z.object({ iv: hex(16) }),
  kdf: z.literal('scrypt'),
  kdfparams: z.object({
    n: z.int().min(2).max(1_048_576),
    r: z.int().min(1).max(64),
    p: z.int().min(1).max(16),
    dklen: z.literal(32),
    salt: hex(),
  }),
  mac: hex(32),
})
const Keystore = z.looseObject({
  version: z.literal(3),
  id: z.string(),
  address: z.string(),
  crypto: Crypto,
})

const COST = { n: 131_072, r: 8, p: 1 } as const
const MAC_FROM = 16
/** Memory limit for scrypt, which needs 128 · n · r bytes and some more. */
const scryptMemory = ({ n, r }: { n: number; r: number }): number => 128 * n * r + 33_554_432
const derive = promisify<string, Buffer, number, object, Buffer>(scrypt)

type Hex = `0x${string}`

/** Encrypts a private key. Deliberately slow (about a second) to resist password guessing. */
export async function encryptKey(key: Hex, password: string): Promise<Keystore> {
  const salt = randomBytes(32)
  const iv = randomBytes(16)
  const derived = await deriveKey(password, salt, COST)
  const cipher = createCipheriv('aes-128-ctr', derived.subarray(0, MAC_FROM), iv)
  const text = Buffer.concat([cipher.update(Buffer.from(key.slice(2), 'hex')), cipher.final()])
  return {
    version: 3,
    id: randomUUID(),
    address: privateKeyToAddress(key).slice(2).toLowerCase(),
    crypto: {
      cipher: 'aes-128-ctr',
      ciphertext: text.toString('hex'),
      cipherparams: { iv: iv.toString('hex') },
      kdf: 'scrypt',
      kdfparams: { ...COST, dklen: 32, salt: salt.toString('hex') },
      mac: computeMac(derived, text).toString('hex'),
    },
  }
}

/** Decrypts a keystore. @throws Failure for a wrong password or an unsupported format */
export async function decryptKey(file: unknown, password: string): Promise<Hex> {
  const { crypto } = readKeystore(file)
  const text = Buffer.from(crypto.ciphertext, 'hex')
  const salt = Buffer.from(crypto.kdfparams.salt, 'hex')
  const derived = await deriveKey(password, salt, crypto.kdfparams)
  if (!timingSafeEqual(computeMac(derived, text), Buffer.from(crypto.mac, 'hex'))) {
    throw new Failure('error', 'The password of the wallet is wrong.')
  }
  const iv = Buffer.from(crypto.cipherparams.iv, 'hex')
  const decipher = createDecipheriv('aes-128-ctr', derived.subarray(0, MAC_FROM), iv)
  return `0x${Buffer.concat([decipher.update(text), decipher.final()]).toString('hex')}`
}

export const isKeystore = (file: unknown): boolean =>
  typeof file === 'object' && file !== null && 'version' in file

/** Some programs write `Crypto` with a capital letter. */
function readKeystore(file: unknown): Keystore {
  const { Crypto: capital, ...rest } = file as { Crypto?: unknown }
  const parsed = Keystore.safeParse({ crypto: capital, id: '', address: '', ...rest })
  if (parsed.success) return parsed.data
  throw new Failure('error', 'Not a keystore of version 3 with scrypt and aes-128-ctr.')
}

const deriveKey = (password: string, salt: Buffer, cost: { n: number; r: number; p: number }) =>
  derive(password.normalize('NFKC'), salt, 32, {
    N: cost.n,
    r: cost.r,
    p: cost.p,
    maxmem: scryptMemory(cost),
  })

const computeMac = (derived: Buffer, text: Buffer): Buffer =>
  Buffer.from(keccak256(Buffer.concat([derived.subarray(MAC_FROM, 32), text]), 'bytes'))
