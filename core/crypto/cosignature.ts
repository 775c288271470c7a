import { type KeyObject, verify } from 'node:crypto'
import { KEY_ID_BYTES, keyId, publicKeyOf, type SignedText } from './signed-note.ts'

/** Key of a witness, which cosigns checkpoints of logs that only grow (C2SP tlog-cosignature). */
export interface WitnessKey {
  /** Verifier key of C2SP signed-note: `<name>+<key id>+<base64>`. */
  readonly text: string
  readonly name: string
  readonly id: Buffer
  readonly key: KeyObject
}

/** Signature type of `cosignature/v1` by Ed25519. */
const COSIGNATURE = 0x04
const VERIFIER_KEY = /^([^\s+]{1,200})\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/
const TIME_BYTES = 8
const SIGNATURE_BYTES = 64
/** End of the year 9999. */
const TIME_MAX = 253_402_300_799n

/** Parses a verifier key; undefined unless it is one of a witness, with the id of its key. */
export function parseWitnessKey(text: string): WitnessKey | undefined {
  const [, name, hex = '', base64 = ''] = VERIFIER_KEY.exec(text) ?? []
  if (name === undefined) return undefined
  const data = Buffer.from(base64, 'base64')
  const bytes = data.subarray(1)
  const id = keyId(name, COSIGNATURE, bytes)
  if (data[0] !== COSIGNATURE || id.toString('hex') !== hex) return undefined
  return { text, name, id, key: publicKeyOf(bytes) }
}

/** Returns the time of a witness's cosignature of a note, in seconds; undefined without one. */
export function findCosignature(
  { text, signatures }: SignedText,
  { name, id, key }: WitnessKey,
): bigint | undefined {
  for (const signature of signatures) {
    const { bytes } = signature
    const isOfKey = signature.name === name && bytes.subarray(0, KEY_ID_BYTES).equals(id)
    if (!isOfKey || bytes.length !== KEY_ID_BYTES + TIME_BYTES + SIGNATURE_BYTES) continue
    const time = bytes.readBigUInt64BE(KEY_ID_BYTES)
    const message = Buffer.from(`cosignature/v1\ntime ${time}\n${text}`)
    const isValid = verify(null, message, key, bytes.subarray(KEY_ID_BYTES + TIME_BYTES))
    if (isValid && time <= TIME_MAX) return time
  }
  return undefined
}
