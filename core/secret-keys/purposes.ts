import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { deriveSecret, type SigningKey, signingKeyOf } from '../crypto/signing-key.ts'

/** Purposes of keys. Each has versions of its own, so that one is rotated without the others. */
export const PURPOSES = {
  receipts: 'signs receipts and checkpoints of the ledger (Ed25519)',
  'request-signatures': 'signs requests to other hosts (Ed25519)',
  webhooks: 'derives the secrets that sign webhooks',
  'domain-proofs': 'derives the tokens that prove ownership of domains',
  'caller-names': 'derives the pseudonyms of callers in statistics',
  'sign-in-links': 'derives the tokens of emailed sign-in links',
  'sign-in-challenges': 'authenticates the challenges that wallets sign or pay',
  'stored-responses': 'encrypts stored responses',
  'upstream-credentials': 'encrypts upstream credentials',
  'plugin-databases': 'derives the database passwords of isolated plugins',
} as const

export type Purpose = keyof typeof PURPOSES

export const PURPOSE_NAMES = Object.keys(PURPOSES) as Purpose[]

/** Purposes whose keys are Ed25519 key pairs, identified by their thumbprint. */
export type KeyPairPurpose = 'receipts' | 'request-signatures'

const isKeyPair = (purpose: Purpose): purpose is KeyPairPurpose =>
  purpose === 'receipts' || purpose === 'request-signatures'

/** Name under which installations derived each secret from the signing key: version 1. */
const DERIVED_NAMES = {
  webhooks: 'webhooks',
  'domain-proofs': 'listing-owner',
  'caller-names': 'listing-owner',
  'sign-in-links': 'magic-links',
  'sign-in-challenges': 'sign-in-challenges',
  'stored-responses': 'kept-answers',
  'upstream-credentials': 'upstream-secrets',
} as const

/** Material and id of a version, before it is stored. */
export interface NewKey {
  readonly id: string
  readonly material: Buffer
}

/**
 * Returns version 1 of a purpose. It derives from the signing key of the installation, except those
 * of newer purposes, which were never used without a stored version.
 */
export function firstKey(purpose: Purpose, key: SigningKey): NewKey {
  if (purpose === 'receipts') return { id: key.id, material: key.privateBytes }
  if (purpose === 'request-signatures') return generateKey(purpose, 1)
  const id = purpose === 'upstream-credentials' ? legacySealingId(key) : `${purpose}-1`
  if (purpose === 'plugin-databases') return { id, material: key.privateBytes }
  return { id, material: key.deriveSecret(DERIVED_NAMES[purpose]) }
}

/** Name that stored upstream credentials have for the key derived from the signing key. */
const legacySealingId = ({ id }: SigningKey): string => `signing-${id.slice(0, 16)}`

const SECRET_BYTES = 32

/** Generates a version of a purpose. */
export function generateKey(purpose: Purpose, version: number): NewKey {
  if (!isKeyPair(purpose)) {
    return { id: `${purpose}-${version}`, material: randomBytes(SECRET_BYTES) }
  }
  const { privateKey } = generateKeyPairSync('ed25519')
  const { id, privateBytes: material } = signingKeyOf(privateKey)
  return { id, material }
}

/** Derives the database password of a plugin's role from material of `plugin-databases`. */
export const pluginPassword = (material: Buffer, role: string): string =>
  deriveSecret(material, `database role ${role}`).toString('hex')

/** Reads the material of a key pair. */
export const signingKeyFrom = (material: Buffer): SigningKey =>
  signingKeyOf(createPrivateKey({ key: material, format: 'der', type: 'pkcs8' }))
