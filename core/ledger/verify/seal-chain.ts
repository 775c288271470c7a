import { createHash } from 'node:crypto'
import { leafHash } from '../../crypto/merkle.ts'
import type { Note } from '../checkpoint.ts'
import type { JournalEntry } from '../entry.ts'
import { TreeBuilder } from '../transparency/tree-builder.ts'
import { SIGNED } from './checkpoints.ts'
import type { SealLine } from './export-line.ts'
import type { Findings } from './findings.ts'
import { leafOf } from './leaf.ts'
import { TREE } from './merkle-tree.ts'

export const LEAF = 'every row is as it was written'
export const SEQUENCE = 'the sequence has no gaps and ends where the export does'
export const CHAIN = 'the seals are one unbroken chain'
export const SEALED = 'every row is under its seal'
const GENESIS = '00'

/** Checks the sequence of rows and the hash chain of seals of one shard. */
export class SealChain {
  readonly #findings: Findings
  /** Checkpoints by sequence number; removed when their seal is read. */
  readonly #notes: Map<bigint, readonly Note[]>
  #newestNote = 0n
  readonly shard: number
  readonly from: bigint
  readonly to: bigint
  #lastSeq: bigint
  #hash: string | undefined
  #sealedTo: bigint
  #sealedAt = ''
  /** Merkle tree of the rows; undefined if the export starts in the middle. */
  readonly #tree: TreeBuilder | undefined
  /** Rows not covered by a seal yet. */
  #unsealed: { readonly seq: bigint; readonly at: string; readonly leaf: string }[] = []

  /** @param notes checkpoints of this shard */
  constructor(
    findings: Findings,
    { shard, from, to }: { shard: number; from: bigint; to: bigint },
    notes: ReadonlyMap<bigint, readonly Note[]>,
  ) {
    this.#findings = findings
    this.#notes = new Map(notes)
    this.shard = shard
    this.from = from
    this.to = to
    this.#lastSeq = from - 1n
    this.#sealedTo = from - 1n
    this.#hash = from === 1n ? GENESIS : undefined
    this.#tree = from === 1n ? new TreeBuilder() : undefined
  }

  row(row: JournalEntry, name: string): void {
    const leaf = leafOf(row)
    if (row.leaf !== leaf) this.#findings.add(LEAF, name)
    this.#tree?.append(leafHash(Buffer.from(leaf, 'hex')))
    if (row.seq <= this.#lastSeq) this.#findings.add(SEQUENCE, `${name}: a number used twice`)
    else if (row.seq !== this.#lastSeq + 1n) this.#reportMissing(this.#lastSeq + 1n)
    if (row.seq > this.#lastSeq) this.#lastSeq = row.seq
    this.#unsealed.push({ seq: row.seq, at: row.at, leaf: row.leaf })
  }

  seal(seal: SealLine): readonly Note[] {
    const name = `shard ${this.shard} seal of seq ${seal.seqFrom} to ${seal.seqTo}`
    const started = this.#hash !== undefined
    const trusted = this.#hash ?? this.#previousHash(seal)
    if (seal.prev !== trusted || (started && seal.seqFrom !== this.#sealedTo + 1n)) {
      this.#findings.add(CHAIN, name)
    }
    if (seal.at < this.#sealedAt) this.#findings.add(CHAIN, `${name}: earlier than the one before`)
    const covered = this.#unsealed.filter(({ seq }) => seq >= seal.seqFrom)
    const before = this.#unsealed.length - covered.length
    if (before > 0 && started) this.#findings.add(SEALED, `${name}: rows before it without a seal`)
    if (before > 0 && !started) this.#noteUncovered(this.#unsealed[0]!.seq, seal.seqFrom - 1n)
    const hash = createHash('sha256').update(seal.prev, 'hex')
    for (const { leaf } of covered) hash.update(leaf, 'hex')
    const isComplete = BigInt(covered.length) === seal.seqTo - seal.seqFrom + 1n
    const haveSameTime = covered.every(({ at }) => at === seal.at)
    if (!isComplete || !haveSameTime || hash.digest('hex') !== seal.hash)
      this.#findings.add(SEALED, name)
    this.#unsealed = []
    this.#hash = seal.hash
    this.#sealedTo = seal.seqTo
    this.#sealedAt = seal.at
    return this.#checkNotes(seal.seqTo, seal.hash)
  }

  end(): void {
    if (this.#lastSeq < this.to) this.#reportMissing(this.#lastSeq + 1n)
    if (this.#lastSeq > this.to) {
      this.#findings.add(SEQUENCE, `shard ${this.shard} seq ${this.to + 1n} is beyond the end`)
    }
    const [first] = this.#unsealed
    if (first) this.#noteUncovered(first.seq, this.#lastSeq)
    for (const seq of this.#notes.keys()) {
      if (seq < this.from || seq > this.to) continue
      this.#findings.add(SIGNED, `shard ${this.shard} checkpoint of seq ${seq}: no seal ends there`)
    }
    const newest = this.#newestNote
    if (newest >= this.to) return
    const place = newest === 0n ? '' : ` after seq ${newest}`
    this.#findings.note(
      `shard ${this.shard}: no checkpoint${place}; rows there could have been rewritten or cut off`,
    )
  }

  /** Hash before the first seal of a partial export: from a checkpoint, or else trusted. */
  #previousHash(seal: SealLine): string {
    const note = this.#notes.get(seal.seqFrom - 1n)?.[0]
    if (note) return note.hash.toString('hex')
    this.#findings.note(
      `shard ${this.shard}: the hash before seq ${seal.seqFrom}, ${seal.prev}, was not verified`,
    )
    return seal.prev
  }

  #checkNotes(seq: bigint, hash: string): readonly Note[] {
    const here = this.#notes.get(seq) ?? []
    if (this.#notes.delete(seq)) this.#newestNote = seq
    for (const note of here) {
      const name = `shard ${this.shard} checkpoint of seq ${seq}`
      if (note.hash.toString('hex') !== hash) {
        this.#findings.add(SIGNED, `${name}: the seal differs: history was rewritten`)
      }
      if (!note.root || !this.#tree) continue
      this.#findings.list(TREE)
      if (note.root.equals(this.#tree.root())) continue
      this.#findings.add(TREE, `${name}: it signs another root`)
    }
    return here
  }

  #reportMissing(seq: bigint): void {
    this.#findings.add(SEQUENCE, `shard ${this.shard} seq ${seq} is missing`)
  }

  #noteUncovered(first: bigint, last: bigint): void {
    this.#findings.note(
      `shard ${this.shard} seq ${first} to ${last}: their seal is not in the export`,
    )
  }
}
