import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { isBeginning, type TreeHead } from './merkle-path.ts'
import { isSigned, ProofError } from './receipt.ts'
import { type Cosignature, verifyCosignatures, type WitnessPolicy } from './witness.ts'

/** Evidence that a tree of the hub's ledger continues an earlier one. */
export interface LogProof {
  /** Stored C2SP signed note. */
  readonly older: string
  /** A later one of the same tree. */
  readonly newer: string
  /** Consistency proof (RFC 6962, section 2.1.2), in base64. */
  readonly hashes: readonly string[]
}

/** Name of the tree of the checkpoints of all shards, which witnesses cosign. */
export const HEADS = 'heads'

/** Root of a tree that the hub signed. */
export interface SignedRoot extends TreeHead {
  /** Number of the shard, or `heads`: the tree of the checkpoints of all shards. */
  readonly tree: string
  /** The ledger and the tree: `agenthub-ledger/<ledger>/<tree>`. */
  readonly origin: string
  /** Time of signing. */
  readonly at: string
}

/** Facts that a log proof shows. */
export interface ProvenLog {
  readonly tree: string
  readonly older: Pick<SignedRoot, 'size' | 'at'>
  readonly newer: Pick<SignedRoot, 'size' | 'at'>
  /** Trusted witnesses that cosigned the newer log. */
  readonly cosignatures: readonly Cosignature[]
}

/**
 * Verifies offline that the newer log contains everything that the older one had, unchanged and in
 * the same order.
 * @param keys of the hub, as `/.well-known/jwks.json` publishes them
 * @param witnesses that must have cosigned the newer log, if it is the tree `heads`
 * @throws ProofError if the log was rewritten, cut off or forked, or the proof is of another log
 */
export function verifyLogProof(
  proof: LogProof,
  keys: readonly JsonWebKey[],
  witnesses?: WitnessPolicy,
): ProvenLog {
  const trusted = keys.map((key) => createPublicKey({ key, format: 'jwk' }))
  const older = readRoot(proof.older, trusted)
  const newer = readRoot(proof.newer, trusted)
  assertSameLog(older, newer)
  if (newer.size < older.size) {
    throw new ProofError(`The log was cut off: it had ${older.size} leaves, now ${newer.size}.`)
  }
  if (newer.size === older.size && !newer.root.equals(older.root)) {
    throw new ProofError(`The log was forked: the hub signed two logs of ${newer.size} leaves.`)
  }
  if (!isBeginning(older, newer, proof.hashes.map(readHash))) {
    throw new ProofError('The log was rewritten: the newer one does not contain the older one.')
  }
  const { tree } = newer
  const [first, second] = [older, newer].map(({ size, at }) => ({ size, at }))
  const isCosigned = witnesses && tree === HEADS
  const cosignatures = isCosigned ? verifyCosignatures(proof.newer, witnesses) : []
  return { tree, older: first!, newer: second!, cosignatures }
}

/** Verifies the signature of a checkpoint. @throws ProofError */
export const verifyRoot = (note: string, keys: readonly JsonWebKey[]): SignedRoot =>
  readRoot(
    note,
    keys.map((key) => createPublicKey({ key, format: 'jwk' })),
  )

/** @throws ProofError */
export function assertSameLog(a: SignedRoot, b: SignedRoot): void {
  if (a.origin !== b.origin) {
    throw new ProofError(`The checkpoints are of two logs: ${a.origin} and ${b.origin}.`)
  }
}

const LOG = /^agenthub-ledger\/[\da-f-]{36}\/(\d{1,5}|heads)$/
const HEAD = /^(\d{1,15})\n([\w+/]{43}=)\nat (\S{27})\n(?:seal |$)/
/** Bytes of the key id before a signature in a signed note. */
const KEY_ID_BYTES = 4
const HASH_BYTES = 32

/** @throws ProofError */
export function readRoot(note: string, keys: readonly KeyObject[]): SignedRoot {
  const end = note.indexOf('\n\n')
  const body = note.slice(0, end + 1)
  const origin = body.slice(0, Math.max(0, body.indexOf('\n')))
  const [, tree] = LOG.exec(origin) ?? []
  const [, size, root, at] = HEAD.exec(body.slice(origin.length + 1)) ?? []
  const signatures = note
    .slice(end + 2)
    .split('\n')
    .map((line) => Buffer.from(line.split(' ')[2] ?? '', 'base64').subarray(KEY_ID_BYTES))
  const text = Buffer.from(body)
  if (!tree || !root || !at || !signatures.some((each) => isSigned(text, each, keys))) {
    throw new ProofError('A checkpoint is not signed by the hub, or has no root.')
  }
  return { origin, tree, size: Number(size), root: Buffer.from(root, 'base64'), at }
}

/** @throws ProofError */
function readHash(text: string): Buffer {
  const hash = Buffer.from(text, 'base64')
  if (hash.length === HASH_BYTES && hash.toString('base64') === text) return hash
  throw new ProofError('The proof has a malformed hash.')
}
