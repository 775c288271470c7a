import type { Note } from '../checkpoint.ts'
import type { JournalEntry } from '../entry.ts'
import { SIGNED_BALANCES, type TrustAnchors } from './checkpoints.ts'
import { CLOSED, ClosedMonths } from './closed-months.ts'
import { type ExportLine, FormatError, parseLine, type ShardBounds } from './export-line.ts'
import { Findings, type Verification } from './findings.ts'
import { NoteReader } from './note-reader.ts'
import { CHAIN, LEAF, SEALED, SEQUENCE, SealChain } from './seal-chain.ts'
import {
  BALANCED,
  CONTROL,
  FLOOR,
  ID,
  type NamedAccount,
  OUTCOME,
  POSTINGS,
  RULE,
  ShardReplay,
} from './shard-replay.ts'

const LINE = 'every line follows the format'
const ROW_CHECKS = [POSTINGS, BALANCED, RULE, OUTCOME, ID, FLOOR, CLOSED]
const CHECKS = [LINE, LEAF, SEQUENCE, CHAIN, SEALED, ...ROW_CHECKS]

/**
 * Verifies an export in the format `agenthub-ledger/1` without the database. Reports rows that were
 * changed, removed, added or moved. `notes` lists what cannot be verified: without checkpoints,
 * given or in the export, its end and a completely rewritten history; without `keys`, the
 * signatures; and for an export that starts in the middle, everything before it. Two checks need
 * the database: reuse of the id of a resolved call, and a reversal above the amount charged. Memory
 * holds open holds, accounts with balances, and the ids of single-step entries.
 * @param lines without line ends
 * @throws RangeError for a malformed key
 */
export async function verifyExport(
  lines: AsyncIterable<string>,
  trust: TrustAnchors = {},
): Promise<Verification> {
  const findings = new Findings(CHECKS)
  const audit = new ExportVerifier(findings, new NoteReader(findings, trust))
  for await (const line of lines) audit.line(line)
  audit.end()
  return findings.result()
}

/** Splits streamed text into lines, without line ends. */
export async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop()!
    yield* lines
  }
  if (rest !== '') yield rest
}

/** Verifies an export in one pass, line by line. */
class ExportVerifier {
  readonly #findings: Findings
  /** Checkpoints by shard and sequence number, in ascending order. */
  readonly #notes = new Map<number, Map<bigint, Note[]>>()
  readonly #reader: NoteReader
  readonly #accounts = new Map<string, NamedAccount>()
  readonly #closedMonths: ClosedMonths
  #bounds: { readonly from: ShardBounds; readonly to: ShardBounds } | undefined
  /** Accounts declared since the last entry; the next entry must use them. */
  #newAccounts: string[] = []
  #chain: SealChain | undefined
  #replay: ShardReplay | undefined
  #pendingShards: number[] = []
  #lastNote: bigint | undefined
  /** Checkpoints that the header announced and that were not read yet. */
  #announced = 0
  #lastRead: Note | undefined
  #lineNo = 0
  #entries = 0n
  #ended = false

  constructor(findings: Findings, reader: NoteReader) {
    this.#findings = findings
    this.#reader = reader
    this.#closedMonths = new ClosedMonths(findings)
    for (const note of reader.external()) this.#addNote(note)
  }

  line(text: string): void {
    this.#lineNo++
    try {
      this.#process(parseLine(text))
    } catch (error) {
      if (!(error instanceof FormatError)) throw error
      this.#findings.add(LINE, `line ${this.#lineNo}: ${error.message}`)
    }
  }

  end(): void {
    this.#reader.end()
    this.#closedMonths.end()
    if (this.#announced !== 0) {
      this.#findings.add(LINE, `line 1: ${this.#announced} checkpoints more than there are`)
    }
    if (!this.#ended) this.#findings.add(LINE, `line ${this.#lineNo + 1}: the end is missing`)
    this.#closeShard()
    while (this.#pendingShards.length > 0) this.#openShard(this.#pendingShards[0]!)
    this.#closeShard()
  }

  #process(line: ExportLine): void {
    if ((line.type === 'header') !== (this.#lineNo === 1)) {
      throw new FormatError('the header is the first line, and no other')
    }
    if (this.#ended) throw new FormatError('something after the end')
    if (line.type !== 'entry' && line.type !== 'account' && this.#newAccounts.length > 0) {
      throw new FormatError('an account that the next entry does not use')
    }
    switch (line.type) {
      case 'header':
        this.#announced = line.checkpoints
        return this.#readHeader(line.from, line.to)
      case 'checkpoint':
        return this.#readCheckpoint(line.note)
      case 'account':
        if (this.#accounts.has(line.id)) throw new FormatError(`account ${line.id} again`)
        this.#accounts.set(line.id, { code: line.code, asset: line.asset })
        this.#newAccounts.push(line.code)
        return undefined
      case 'entry':
        return this.#readEntry(line)
      case 'seal': {
        if (this.#chain?.shard !== line.shard) throw new FormatError('a seal of another shard')
        const notes = this.#chain.seal(line)
        if (notes.length > 0) this.#checkBalances(this.#chain, notes)
        return undefined
      }
      case 'end':
        this.#ended = true
        if (line.entries !== this.#entries) {
          throw new FormatError(`${line.entries} entries announced, ${this.#entries} found`)
        }
    }
  }

  #readCheckpoint(text: string): void {
    this.#announced--
    if (this.#accounts.size > 0) throw new FormatError('a checkpoint after the first account')
    const note = this.#reader.read(text)
    if (!note) return
    const last = this.#lastRead
    this.#lastRead = note
    const follows =
      !last || last.shard < note.shard || (last.shard === note.shard && last.seq < note.seq)
    if (!follows) throw new FormatError('checkpoints out of order')
    this.#addNote(note)
  }

  #addNote(note: Note): void {
    const shard = this.#notes.get(note.shard) ?? new Map<bigint, Note[]>()
    this.#notes.set(note.shard, shard.set(note.seq, [...(shard.get(note.seq) ?? []), note]))
  }

  #readHeader(from: ShardBounds, to: ShardBounds): void {
    this.#bounds = { from, to }
    this.#pendingShards = [...from.keys()]
    for (const [shard, first] of from) {
      const last = to.get(shard)
      if (last === undefined || first < 1n || last < first - 1n || to.size !== from.size) {
        throw new FormatError('inconsistent shard bounds')
      }
      if (first > 1n) {
        this.#findings.note(
          `shard ${shard} starts at seq ${first}: earlier balances and holds are unknown`,
        )
      } else this.#findings.list(CONTROL)
    }
  }

  #readEntry({ row, event, postings }: Extract<ExportLine, { type: 'entry' }>): void {
    this.#entries++
    if (row.shard !== this.#chain?.shard) this.#switchShard(row)
    const name = `shard ${row.shard} seq ${row.seq} id ${row.id}`
    this.#chain!.row(row, name)
    this.#replay!.entry(row, event, postings, name)
    this.#closedMonths.entry(row, name)
    if (this.#newAccounts.length === 0) return
    const newAccounts = this.#newAccounts
    this.#newAccounts = []
    const used = new Set(postings.map(({ account }) => account))
    const inOrder = [...used].filter((code) => newAccounts.includes(code))
    if (String(inOrder) !== String(newAccounts)) {
      throw new FormatError('the declared accounts are not those that the entry uses first')
    }
  }

  #switchShard(row: JournalEntry): void {
    if (!this.#pendingShards.includes(row.shard)) {
      this.#findings.add(LINE, `line ${this.#lineNo}: a row of shard ${row.shard}, out of order`)
      if (this.#chain) return
    }
    this.#closeShard()
    while (this.#chain?.shard !== row.shard && this.#pendingShards.length > 0) {
      this.#closeShard()
      this.#openShard(this.#pendingShards[0]!)
    }
    if (!this.#chain) this.#startShard({ shard: row.shard, from: row.seq, to: row.seq })
  }

  #openShard(shard: number): void {
    this.#closeShard()
    this.#pendingShards = this.#pendingShards.filter((other) => other !== shard)
    const { from, to } = this.#bounds!
    this.#startShard({ shard, from: from.get(shard)!, to: to.get(shard) ?? 0n })
  }

  #startShard(bounds: { shard: number; from: bigint; to: bigint }): void {
    const notes = this.#notes.get(bounds.shard) ?? new Map<bigint, Note[]>()
    this.#lastNote = [...notes.keys()]
      .filter((seq) => seq <= bounds.to)
      .reduce<bigint | undefined>(
        (max, seq) => (max === undefined || seq > max ? seq : max),
        undefined,
      )
    this.#chain = new SealChain(this.#findings, bounds, notes)
    this.#replay = new ShardReplay(this.#findings, this.#accounts, bounds.from === 1n)
  }

  #closeShard(): void {
    this.#chain?.end()
    if (this.#chain) this.#replay?.end(this.#chain.shard)
    this.#chain = undefined
    this.#replay = undefined
  }

  /** Checks the signed balances against the last checkpoint of a shard. */
  #checkBalances({ shard, from }: SealChain, here: readonly Note[]): void {
    const { seq } = here[0]!
    if (from > 1n || seq !== this.#lastNote) return
    this.#findings.list(SIGNED_BALANCES)
    const hash = this.#replay!.balancesHash()
    if (here.every(({ balances }) => balances.equals(hash))) return
    this.#findings.add(SIGNED_BALANCES, `shard ${shard} at seq ${seq}`)
  }
}
