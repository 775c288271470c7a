import { createHash } from 'node:crypto'
import type { Note } from '../checkpoint.ts'
import type { JournalEntry } from '../entry.ts'
import { SIGNED } from './checkpoints.ts'
import type { Findings } from './findings.ts'
import { leafOf } from './leaf.ts'
import type { SealLine } from './line.ts'

export const LEAF = 'every row is as it was written'
export const SEQUENCE = 'the sequence has no gaps and ends where the export does'
export const CHAIN = 'the seals are one unbroken chain'
export const SEALED = 'every row is under its seal'
const GENESIS = '00'

/** The rows and seals of one shard, in their order. */
export class Chain {
  readonly #findings: Findings
  /** Checkpoints by their places; what was met is taken out. */
  readonly #notes: Map<bigint, readonly Note[]>
  #newest = 0n
  readonly shard: number
  readonly from: bigint
  readonly to: bigint
  #last: bigint
  #hash: string | undefined
  #sealedTo: bigint
  #sealedAt = ''
  /** Rows that no seal has covered yet. */
  #open: { readonly seq: bigint; readonly at: string; readonly leaf: string }[] = []

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
    this.#last = from - 1n
    this.#sealedTo = from - 1n
    this.#hash = from === 1n ? GENESIS : undefined
  }

  row(row: JournalEntry, name: string): void {
    if (row.leaf !== leafOf(row)) this.#findings.add(LEAF, name)
    if (row.seq <= this.#last) this.#findings.add(SEQUENCE, `${name}: a number used twice`)
    else if (row.seq !== this.#last + 1n) this.#missing(this.#last + 1n)
    if (row.seq > this.#last) this.#last = row.seq
    this.#open.push({ seq: row.seq, at: row.at, leaf: row.leaf })
  }

  seal(seal: SealLine): readonly Note[] {
    const name = `shard ${this.shard} seal of seq ${seal.seqFrom} to ${seal.seqTo}`
    const started = this.#hash !== undefined
    const trusted = this.#hash ?? this.#before(seal)
    if (seal.prev !== trusted || (started && seal.seqFrom !== this.#sealedTo + 1n)) {
      this.#findings.add(CHAIN, name)
    }
    if (seal.at < this.#sealedAt) this.#findings.add(CHAIN, `${name}: earlier than the one before`)
    const covered = this.#open.filter(({ seq }) => seq >= seal.seqFrom)
    const before = this.#open.length - covered.length
    if (before > 0 && started) this.#findings.add(SEALED, `${name}: rows before it without a seal`)
    if (before > 0 && !started) this.#uncovered(this.#open[0]!.seq, seal.seqFrom - 1n)
    const hash = createHash('sha256').update(seal.prev, 'hex')
    for (const { leaf } of covered) hash.update(leaf, 'hex')
    const whole = BigInt(covered.length) === seal.seqTo - seal.seqFrom + 1n
    const same = covered.every(({ at }) => at === seal.at)
    if (!whole || !same || hash.digest('hex') !== seal.hash) this.#findings.add(SEALED, name)
    this.#open = []
    this.#hash = seal.hash
    this.#sealedTo = seal.seqTo
    this.#sealedAt = seal.at
    return this.#compare(seal.seqTo, seal.hash)
  }

  end(): void {
    if (this.#last < this.to) this.#missing(this.#last + 1n)
    if (this.#last > this.to) {
      this.#findings.add(SEQUENCE, `shard ${this.shard} seq ${this.to + 1n} is beyond the end`)
    }
    const [first] = this.#open
    if (first) this.#uncovered(first.seq, this.#last)
    for (const seq of this.#notes.keys()) {
      if (seq < this.from || seq > this.to) continue
      this.#findings.add(SIGNED, `shard ${this.shard} checkpoint of seq ${seq}: no seal ends there`)
    }
    const newest = this.#newest
    if (newest >= this.to) return
    const place = newest === 0n ? '' : ` after seq ${newest}`
    this.#findings.note(
      `shard ${this.shard}: no checkpoint${place}; rows there could have been rewritten or cut off`,
    )
  }

  /** What the chain goes on from in the middle: signed, or else believed. */
  #before(seal: SealLine): string {
    const note = this.#notes.get(seal.seqFrom - 1n)?.[0]
    if (note) return note.hash.toString('hex')
    this.#findings.note(
      `shard ${this.shard}: the hash before seq ${seal.seqFrom}, ${seal.prev}, is taken on trust`,
    )
    return seal.prev
  }

  #compare(seq: bigint, hash: string): readonly Note[] {
    const here = this.#notes.get(seq) ?? []
    if (this.#notes.delete(seq)) this.#newest = seq
    for (const note of here) {
      if (note.hash.toString('hex') === hash) continue
      const name = `shard ${this.shard} checkpoint of seq ${seq}`
      this.#findings.add(SIGNED, `${name}: the seal is another one: history was rewritten`)
    }
    return here
  }

  #missing(seq: bigint): void {
    this.#findings.add(SEQUENCE, `shard ${this.shard} seq ${seq} is missing`)
  }

  #uncovered(first: bigint, last: bigint): void {
    this.#findings.note(
      `shard ${this.shard} seq ${first} to ${last}: their seal is not in the export`,
    )
  }
}
