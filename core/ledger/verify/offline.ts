import { Keyring, type Note, parseNote, splitNotes } from '../checkpoint.ts'
import type { JournalEntry } from '../entry.ts'
import {
  BALANCED,
  Books,
  CONTROL,
  FLOOR,
  type NamedAccount,
  ONCE,
  OUTCOME,
  POSTINGS,
  RULE,
} from './books.ts'
import { CHAIN, Chain, LEAF, SEALED, SEQUENCE } from './chain.ts'
import { CARRIED, SIGNED, type Trust } from './checkpoints.ts'
import { Findings, type Verification } from './findings.ts'
import { type Bounds, FormatError, type Line, parseLine } from './line.ts'

const FORM = 'every line is as the format has it'
const CHECKS = [FORM, LEAF, SEQUENCE, CHAIN, SEALED, POSTINGS, BALANCED, RULE, OUTCOME, ONCE, FLOOR]

/**
 * Proves an export of the form `agenthub-ledger/1` without the database, from its lines. Rows that
 * were changed, removed, added or moved are named. What it takes on trust it says in `notes`:
 * without `checkpoints`, the end of the export and a history that was rewritten whole; without
 * `keys`, the signatures; and for an export that starts in the middle, what was before. Only the
 * database tells that an id was used again for a call that is resolved, or that a reversal gives
 * back more than was charged. In memory are open holds, accounts with their balances, and the ids
 * of single-step entries.
 * @param lines without their line ends
 * @throws RangeError for a key that is none
 */
export async function verifyExport(
  lines: AsyncIterable<string>,
  trust: Trust = {},
): Promise<Verification> {
  const findings = new Findings(CHECKS)
  const audit = new Audit(findings, readNotes(findings, trust))
  for await (const line of lines) audit.line(line)
  audit.end()
  return findings.result()
}

/** The lines of a text that comes in pieces, without their line ends. */
export async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const piece of pieces) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop()!
    yield* lines
  }
  if (rest !== '') yield rest
}

function readNotes(findings: Findings, { checkpoints, keys }: Trust): readonly Note[] {
  if (checkpoints === undefined) {
    findings.note('no checkpoints were given: a history rewritten whole would not be noticed')
    return []
  }
  findings.list(SIGNED)
  const keyring = keys && new Keyring(keys)
  if (!keyring) findings.note('the signatures of checkpoints were not checked: no keys were given')
  const notes = splitNotes(checkpoints).flatMap((text) => {
    const note = parseNote(text)
    if (!note) findings.add(SIGNED, `not a checkpoint: ${text.slice(0, 80).trim()}`)
    return note ? [note] : []
  })
  return notes.filter((note) => {
    const name = `shard ${note.shard} checkpoint of seq ${note.seq}`
    const own = note.ledger === notes[0]!.ledger
    const signed = !keyring || keyring.signed(note)
    if (!own) findings.add(SIGNED, `${name}: of another ledger than the first`)
    if (!signed) findings.add(SIGNED, `${name}: signed by no key that is trusted`)
    return own && signed
  })
}

/** Goes through an export once, line by line. */
class Audit {
  readonly #findings: Findings
  /** By shard and place, in the order of the sequence. */
  readonly #notes: Map<number, Map<bigint, Note[]>>
  readonly #accounts = new Map<string, NamedAccount>()
  #bounds: { readonly from: Bounds; readonly to: Bounds } | undefined
  /** Accounts declared since the last entry: the next one is the first to use them. */
  #declared: string[] = []
  #chain: Chain | undefined
  #books: Books | undefined
  #waiting: number[] = []
  #lastNote: bigint | undefined
  #number = 0
  #entries = 0n
  #ended = false

  constructor(findings: Findings, notes: readonly Note[]) {
    this.#findings = findings
    this.#notes = new Map()
    for (const note of [...notes].sort((a, b) => (a.seq < b.seq ? -1 : 1))) {
      const shard = this.#notes.get(note.shard) ?? new Map<bigint, Note[]>()
      this.#notes.set(note.shard, shard.set(note.seq, [...(shard.get(note.seq) ?? []), note]))
    }
  }

  line(text: string): void {
    this.#number++
    try {
      this.#take(parseLine(text))
    } catch (error) {
      if (!(error instanceof FormatError)) throw error
      this.#findings.add(FORM, `line ${this.#number}: ${error.message}`)
    }
  }

  end(): void {
    if (!this.#ended) this.#findings.add(FORM, `line ${this.#number + 1}: the end is missing`)
    this.#close()
    while (this.#waiting.length > 0) this.#open(this.#waiting[0]!)
    this.#close()
  }

  #take(line: Line): void {
    if ((line.type === 'header') !== (this.#number === 1)) {
      throw new FormatError('the header is the first line, and no other')
    }
    if (this.#ended) throw new FormatError('something after the end')
    if (line.type !== 'entry' && line.type !== 'account' && this.#declared.length > 0) {
      throw new FormatError('an account that the next entry does not use')
    }
    switch (line.type) {
      case 'header':
        return this.#start(line.from, line.to)
      case 'account':
        if (this.#accounts.has(line.id)) throw new FormatError(`account ${line.id} again`)
        this.#accounts.set(line.id, { code: line.code, asset: line.asset })
        this.#declared.push(line.code)
        return undefined
      case 'entry':
        return this.#entry(line)
      case 'seal': {
        if (this.#chain?.shard !== line.shard) throw new FormatError('a seal of another shard')
        const notes = this.#chain.seal(line)
        if (notes.length > 0) this.#balances(this.#chain, notes)
        return undefined
      }
      case 'end':
        this.#ended = true
        if (line.entries !== this.#entries) {
          throw new FormatError(`${line.entries} entries announced, ${this.#entries} found`)
        }
    }
  }

  #start(from: Bounds, to: Bounds): void {
    this.#bounds = { from, to }
    this.#waiting = [...from.keys()]
    for (const [shard, first] of from) {
      const last = to.get(shard)
      if (last === undefined || first < 1n || last < first - 1n || to.size !== from.size) {
        throw new FormatError('bounds of shards that do not fit')
      }
      if (first > 1n) {
        this.#findings.note(
          `shard ${shard} starts at seq ${first}: balances and holds before it are not known`,
        )
      } else this.#findings.list(CONTROL)
    }
  }

  #entry({ row, event, postings }: Extract<Line, { type: 'entry' }>): void {
    this.#entries++
    if (row.shard !== this.#chain?.shard) this.#turnTo(row)
    const name = `shard ${row.shard} seq ${row.seq} id ${row.id}`
    this.#chain!.row(row, name)
    this.#books!.entry(row, event, postings, name)
    if (this.#declared.length === 0) return
    const declared = this.#declared
    this.#declared = []
    const used = new Set(postings.map(({ account }) => account))
    const inOrder = [...used].filter((code) => declared.includes(code))
    if (String(inOrder) !== String(declared)) {
      throw new FormatError('accounts before the entry that are not those it uses first')
    }
  }

  #turnTo(row: JournalEntry): void {
    if (!this.#waiting.includes(row.shard)) {
      this.#findings.add(FORM, `line ${this.#number}: a row of shard ${row.shard}, out of order`)
      if (this.#chain) return
    }
    this.#close()
    while (this.#chain?.shard !== row.shard && this.#waiting.length > 0) {
      this.#close()
      this.#open(this.#waiting[0]!)
    }
    if (!this.#chain) this.#begin({ shard: row.shard, from: row.seq, to: row.seq })
  }

  #open(shard: number): void {
    this.#close()
    this.#waiting = this.#waiting.filter((other) => other !== shard)
    const { from, to } = this.#bounds!
    this.#begin({ shard, from: from.get(shard)!, to: to.get(shard) ?? 0n })
  }

  #begin(bounds: { shard: number; from: bigint; to: bigint }): void {
    const notes = this.#notes.get(bounds.shard) ?? new Map<bigint, Note[]>()
    this.#lastNote = [...notes.keys()].filter((seq) => seq <= bounds.to).at(-1)
    this.#chain = new Chain(this.#findings, bounds, notes)
    this.#books = new Books(this.#findings, this.#accounts, bounds.from === 1n)
  }

  #close(): void {
    this.#chain?.end()
    if (this.#chain) this.#books?.end(this.#chain.shard)
    this.#chain = undefined
    this.#books = undefined
  }

  /** A checkpoint signs the balances too; the last one of a shard is enough. */
  #balances({ shard, from }: Chain, here: readonly Note[]): void {
    const { seq } = here[0]!
    if (from > 1n || seq !== this.#lastNote) return
    this.#findings.list(CARRIED)
    const hash = this.#books!.balancesHash()
    if (here.every(({ balances }) => balances.equals(hash))) return
    this.#findings.add(CARRIED, `shard ${shard} at seq ${seq}`)
  }
}
