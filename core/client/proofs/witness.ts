import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { ProofError } from './receipt.ts'

/** Trusted witnesses: each cosigns checkpoints of logs that only grow. */
export interface WitnessPolicy {
  /** Verifier keys (C2SP signed-note), such as `witness.example/w1+0aea8b8c+BMyH…`. */
  readonly witnesses: readonly string[]
  /** Number of them that must have cosigned a checkpoint. @defaultValue all */
  readonly quorum?: number | undefined
}

/** Statement of a witness that a checkpoint is of the only log that it has seen. */
export interface Cosignature {
  readonly witness: string
  /** Time of signing. */
  readonly at: string
}

interface TrustedKey {
  readonly name: string
  readonly id: Buffer
  readonly key: KeyObject
}

/** Type of a signature `cosignature/v1` by Ed25519 (C2SP tlog-cosignature). */
const TYPE = 0x04
const VERIFIER_KEY = /^([^\s+]{1,200})\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/
const LINE = /^— (\S+) ([A-Za-z0-9+/]+={0,2})$/
/** Key id and time before the signature, and the signature. */
const [ID_BYTES, TIME_BYTES, SIGNATURE_BYTES] = [4, 8, 64] as const
/** End of the year 9999, in seconds. */
const TIME_MAX = 253_402_300_799n

/** Number of witnesses that a policy demands. */
export const quorumOf = ({ witnesses, quorum }: WitnessPolicy): number => quorum ?? witnesses.length

/**
 * Verifies that enough of the trusted witnesses cosigned a checkpoint.
 * @throws ProofError
 */
export function verifyCosignatures(note: string, policy: WitnessPolicy): readonly Cosignature[] {
  const keys = new Map(policy.witnesses.map((text) => [text, readKey(text)]))
  const found = [...keys.values()].flatMap((key) => cosignaturesBy(key, note).slice(0, 1))
  const quorum = quorumOf(policy)
  if (found.length >= quorum && quorum > 0 && quorum <= keys.size) return found
  throw new ProofError(
    quorum > 0 && quorum <= keys.size
      ? `Only ${found.length} of the trusted witnesses cosigned the checkpoint, not ${quorum}.`
      : `${quorum} of ${keys.size} witnesses cannot cosign a checkpoint.`,
  )
}

function cosignaturesBy({ name, id, key }: TrustedKey, note: string): readonly Cosignature[] {
  const end = note.indexOf('\n\n')
  const body = note.slice(0, end + 1)
  return note
    .slice(end + 2)
    .split('\n')
    .flatMap((line) => {
      const [, signer, signature = ''] = LINE.exec(line) ?? []
      const bytes = Buffer.from(signature, 'base64')
      const isOfKey = signer === name && bytes.subarray(0, ID_BYTES).equals(id)
      if (!isOfKey || bytes.length !== ID_BYTES + TIME_BYTES + SIGNATURE_BYTES) return []
      const time = bytes.readBigUInt64BE(ID_BYTES)
      const message = Buffer.from(`cosignature/v1\ntime ${time}\n${body}`)
      if (time > TIME_MAX || !verify(null, message, key, bytes.subarray(ID_BYTES + TIME_BYTES))) {
        return []
      }
      return [{ witness: name, at: new Date(Number(time) * 1_000).toISOString() }]
    })
}

/** @throws ProofError unless it is the verifier key of a witness */
function readKey(text: string): TrustedKey {
  const [, name, hex, base64 = ''] = VERIFIER_KEY.exec(text) ?? []
  const bytes = Buffer.from(base64, 'base64')
  const id = createHash('sha256').update(`${name}\n`).update(bytes).digest().subarray(0, ID_BYTES)
  if (name === undefined || bytes[0] !== TYPE || id.toString('hex') !== hex) {
    throw new ProofError(`Not the verifier key of a witness: ${text.slice(0, 300)}`)
  }
  const x = bytes.subarray(1).toString('base64url')
  return {
    name,
    id,
    key: createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }),
  }
}
