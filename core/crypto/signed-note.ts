import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { SigningKey } from './signing-key.ts'

/** Parts of a C2SP signed note. */
export interface SignedText {
  /** The part that is signed; it ends with a newline. */
  readonly text: string
  /** Signatures by name of their key: 4 bytes of key id, and the signature. */
  readonly signatures: readonly { readonly name: string; readonly bytes: Buffer }[]
}

const ED25519 = 0x01
/** Bytes of the key id before a signature. */
export const KEY_ID_BYTES = 4
const SIGNATURE_BYTES = 64
const SIGNATURE = /^— (\S+) ([A-Za-z0-9+/]+={0,2})$/

/** Signs a text, which ends with a newline. */
export function signNote(text: string, name: string, key: SigningKey): string {
  const signature = key.sign(Buffer.from(text, 'utf8'))
  return `${text}\n${signatureLine(name, [keyId(name, ED25519, key.publicKey), signature])}`
}

const signatureLine = (name: string, parts: readonly Buffer[]): string =>
  `— ${name} ${Buffer.concat(parts).toString('base64')}\n`

/** Splits a note into its parts without verifying signatures; undefined if malformed. */
export function parseSignedNote(note: string): SignedText | undefined {
  const end = note.indexOf('\n\n')
  const lines = note.slice(end + 2).split('\n')
  if (end < 0 || lines.pop() !== '' || lines.length === 0) return undefined
  const signatures = lines.flatMap((line) => {
    const [, name = '', signature = ''] = SIGNATURE.exec(line) ?? []
    const bytes = Buffer.from(signature, 'base64')
    return name !== '' && bytes.toString('base64') === signature ? [{ name, bytes }] : []
  })
  return { text: note.slice(0, end + 1), signatures }
}

/** Id of a key in a signed note. */
export const keyId = (name: string, type: number, publicKey: Buffer): Buffer =>
  createHash('sha256')
    .update(`${name}\n`)
    .update(Buffer.of(type))
    .update(publicKey)
    .digest()
    .subarray(0, KEY_ID_BYTES)

/** Wraps 32 bytes of an Ed25519 public key. */
export const publicKeyOf = (bytes: Buffer): KeyObject =>
  createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') },
    format: 'jwk',
  })

/** Trusted Ed25519 public keys, each 32 bytes in base64. */
export class Keyring {
  readonly #keys: readonly { readonly bytes: Buffer; readonly key: KeyObject }[]

  /** @throws RangeError for a malformed key */
  constructor(keys: readonly string[]) {
    this.#keys = keys.map((text) => {
      const bytes = Buffer.from(text, 'base64')
      if (bytes.length !== 32) throw new RangeError(`not 32 bytes of base64: ${text}`)
      return { bytes, key: publicKeyOf(bytes) }
    })
  }

  /** Returns true if the note has a valid signature by one of the keys under this name. */
  hasSigned({ text, signatures }: SignedText, name: string): boolean {
    const signed = Buffer.from(text, 'utf8')
    return this.#keys.some(({ bytes, key }) => {
      const id = keyId(name, ED25519, bytes)
      return signatures.some(
        (signature) =>
          signature.name === name &&
          signature.bytes.length === KEY_ID_BYTES + SIGNATURE_BYTES &&
          signature.bytes.subarray(0, KEY_ID_BYTES).equals(id) &&
          verify(null, signed, key, signature.bytes.subarray(KEY_ID_BYTES)),
      )
    })
  }
}
