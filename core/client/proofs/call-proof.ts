import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { HEADS, readRoot, type SignedRoot } from './log-proof.ts'
import { leafHash, rootFrom, sha256 } from './merkle-path.ts'
import { ProofError, readReceipt } from './receipt.ts'
import { type Cosignature, verifyCosignatures, type WitnessPolicy } from './witness.ts'

/** Evidence about a call, as `GET /v1/calls/{id}/proof` returns it. */
export interface CallProof {
  /** Compact JWS about the call. */
  readonly receipt: string
  readonly entries: readonly EntryProof[]
}

/** Journal entry with its path to a root that the hub has signed; bytes are in base64. */
export interface EntryProof {
  /** Number of its leaf in the Merkle tree (RFC 6962). */
  readonly leaf_index: number
  /** PostgreSQL's binary record of the entry; the data of the leaf is its SHA-256. */
  readonly row: string
  /** Hashes of the siblings, from the leaf to the root. */
  readonly path: readonly string[]
  /** C2SP signed note with the size and the root of the tree. */
  readonly checkpoint: string
  /** Undefined in proofs of earlier hubs. */
  readonly heads?: HeadsProof
}

/** Path of a checkpoint to the root over the checkpoints of all shards. */
export interface HeadsProof {
  /** Number of the leaf, whose data is the checkpoint. */
  readonly leaf_index: number
  readonly path: readonly string[]
  /** C2SP signed note with that root, and cosignatures of witnesses. */
  readonly checkpoint: string
}

/** Facts that a proof shows. */
export interface ProvenCall {
  readonly claims: Readonly<Record<string, unknown>>
  readonly entries: readonly {
    readonly shard: number
    readonly seq: number
    /** Entries that the checkpoint covers, and when it was signed. */
    readonly size: number
    readonly at: string
    /** Root over the checkpoints of all shards, and the trusted witnesses that cosigned it. */
    readonly heads?: Pick<SignedRoot, 'size' | 'at'> & {
      readonly cosignatures: readonly Cosignature[]
    }
  }[]
}

/**
 * Verifies offline that the hub signed the receipt of a call, and that the entries which the
 * receipt names are in the journal whose root the hub signed, with the charged amount.
 * @param keys of the hub, as `/.well-known/jwks.json` publishes them
 * @param witnesses that must have cosigned the root; if omitted, the hub alone vouches for it
 * @throws ProofError
 */
export function verifyCallProof(
  proof: CallProof,
  keys: readonly JsonWebKey[],
  witnesses?: WitnessPolicy,
): ProvenCall {
  const trusted = keys.map((key) => createPublicKey({ key, format: 'jwk' }))
  const { claims } = readReceipt(proof.receipt, trusted)
  const entries = proof.entries.map((entry) => verifyEntry(entry, trusted, witnesses))
  if (entries.length === 0) throw new ProofError('It proves no entry.')
  if (entries.some(({ id }) => id !== claims['ledger_entry'])) {
    throw new ProofError('An entry is not the one that the receipt names.')
  }
  const charged = BigInt(Number(claims['charged_microdollars']))
  const isCharged = entries.some(({ amounts }) => amounts.includes(charged))
  if (charged > 0n && !isCharged) throw new ProofError('No entry has the amount of the receipt.')
  return { claims, entries: entries.map(({ shown }) => shown) }
}

function verifyEntry(
  { heads, checkpoint, ...place }: EntryProof,
  keys: readonly KeyObject[],
  witnesses: WitnessPolicy | undefined,
) {
  const signed = readRoot(checkpoint, keys)
  const { tree, size, at } = signed
  const data = Buffer.from(place.row, 'base64')
  assertPath('entry', leafHash(sha256(data)), place, signed)
  if (!heads && witnesses) throw new ProofError('It has no root that witnesses cosign.')
  const all = heads && verifyHeads(heads, { checkpoint, signed }, { keys, witnesses })
  const entry = readEntry(data)
  if (String(entry.shard) !== tree || entry.seq !== place.leaf_index + 1) {
    throw new ProofError('The entry has another place in the journal.')
  }
  const { id, amounts, shard, seq } = entry
  return { id, amounts, shown: { shard, seq, size, at, ...(all && { heads: all }) } }
}

/** Verifies that the root over all shards covers a checkpoint. @throws ProofError */
function verifyHeads(
  heads: HeadsProof,
  { checkpoint, signed }: { readonly checkpoint: string; readonly signed: SignedRoot },
  trust: { readonly keys: readonly KeyObject[]; readonly witnesses: WitnessPolicy | undefined },
) {
  const root = readRoot(heads.checkpoint, trust.keys)
  const ledgerOf = ({ origin, tree }: SignedRoot): string => origin.slice(0, -tree.length)
  if (root.tree !== HEADS || ledgerOf(root) !== ledgerOf(signed)) {
    throw new ProofError('The root over all shards is of another ledger.')
  }
  assertPath('checkpoint', leafHash(Buffer.from(checkpoint)), heads, root)
  const cosignatures = trust.witnesses ? verifyCosignatures(heads.checkpoint, trust.witnesses) : []
  return { size: root.size, at: root.at, cosignatures }
}

/** @throws ProofError unless the path leads from the leaf to the root */
function assertPath(
  name: string,
  leaf: Buffer,
  { leaf_index: index, path }: Pick<EntryProof, 'leaf_index' | 'path'>,
  { size, root }: SignedRoot,
): void {
  const siblings = path.map((hash) => Buffer.from(hash, 'base64'))
  if (rootFrom(leaf, { index, size, siblings })?.equals(root)) return
  throw new ProofError(`The path does not lead from the ${name} to the root of the checkpoint.`)
}

const COLUMNS = 21
/** Numbers of columns: see `ledger.leaf`. */
const [ID, SEQ, AMOUNT, SHARD, AMOUNTS] = [0, 2, 4, 13, 18] as const
/** Bytes of an array before its first element, and of each bigint with its length. */
const [ARRAY_HEAD, ELEMENT] = [20, 12] as const

/** Reads the binary record of an entry. @throws ProofError if malformed */
function readEntry(data: Buffer) {
  try {
    const columns = readColumns(data)
    const amounts = columns[AMOUNTS]
    const count = amounts && amounts.length > ARRAY_HEAD ? amounts.readInt32BE(12) : 0
    const elements = Array.from({ length: count }, (_, n) =>
      amounts!.readBigInt64BE(ARRAY_HEAD + n * ELEMENT + 4),
    )
    return {
      id: columns[ID]!.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
      shard: columns[SHARD]!.readInt16BE(),
      seq: Number(columns[SEQ]!.readBigInt64BE()),
      amounts: [columns[AMOUNT]!.readBigInt64BE(), ...elements],
    }
  } catch (cause) {
    throw new ProofError('An entry is malformed.', { cause })
  }
}

/** Contents of each column; undefined for null. */
function readColumns(data: Buffer): readonly (Buffer | undefined)[] {
  if (data.readInt32BE() !== COLUMNS) throw new RangeError('another number of columns')
  const columns: (Buffer | undefined)[] = []
  let at = 4
  while (columns.length < COLUMNS) {
    const length = data.readInt32BE(at + 4)
    at += 8
    columns.push(length < 0 ? undefined : data.subarray(at, at + length))
    at += Math.max(0, length)
  }
  return columns
}
