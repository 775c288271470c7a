import type { JournalEntry } from '../entry.ts'
import { parseInstant } from './leaf.ts'

/** A line of an export in the format `agenthub-ledger/1`. */
export type ExportLine =
  | {
      readonly type: 'header'
      readonly from: ShardBounds
      readonly to: ShardBounds
      /** Number of checkpoints, which follow the header. */
      readonly checkpoints: number
    }
  | {
      readonly type: 'account'
      readonly id: string
      readonly code: string
      readonly asset: string
    }
  | {
      readonly type: 'entry'
      readonly event: string
      readonly postings: readonly PostingLine[]
      readonly row: JournalEntry
    }
  | { readonly type: 'checkpoint'; readonly note: string }
  | SealLine
  | { readonly type: 'end'; readonly entries: bigint }

export type ShardBounds = ReadonlyMap<number, bigint>

export interface PostingLine {
  readonly account: string
  readonly asset: string
  readonly amount: bigint
}

export interface SealLine {
  readonly type: 'seal'
  readonly shard: number
  readonly seqFrom: bigint
  readonly seqTo: bigint
  readonly at: string
  readonly prev: string
  readonly hash: string
}

export class FormatError extends Error {
  override readonly name = 'FormatError'
}

/** Parses a line. @throws FormatError also for a non-canonical form, which no hash covers */
export function parseLine(text: string): ExportLine {
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null) throw new FormatError('not an object')
  if (JSON.stringify(value) !== text) throw new FormatError('not in canonical form')
  const { type } = value as { type?: unknown }
  switch (type) {
    case 'header': {
      if ('period' in value || 'accounts' in value) {
        throw new FormatError('an export of a period or of some accounts cannot be verified')
      }
      const names = 'checkpoints' in value ? HEADER_WITH_CHECKPOINTS : HEADER
      const { format, from, to, checkpoints = 0 } = readMembers(value, names)
      if (format !== 'agenthub-ledger/1') throw new FormatError('not the format agenthub-ledger/1')
      return {
        type,
        from: readBounds(from),
        to: readBounds(to),
        checkpoints: readInteger(checkpoints, INT2_MAX),
      }
    }
    case 'account': {
      const { id, code, asset } = readMembers(value, 'type,id,code,asset')
      return { type, id: readId(id), code: readString(code), asset: readString(asset) }
    }
    case 'checkpoint':
      return { type, note: readString(readMembers(value, 'type,note')['note']) }
    case 'entry': {
      const { event, postings, row } = readMembers(value, 'type,event,postings,row')
      return {
        type,
        event: readString(event),
        postings: readList(postings, readPosting),
        row: readRow(row),
      }
    }
    case 'seal':
      return readSeal(value)
    case 'end':
      return { type, entries: readInt8(readMembers(value, 'type,entries')['entries']) }
    default:
      throw new FormatError('unknown type of line')
  }
}

const HEADER = 'type,format,from,to'
const HEADER_WITH_CHECKPOINTS = `${HEADER},checkpoints`
const ROW =
  'id,owner,seq,at,amount,rest,fee,payee,expires_at,endpoint,price_version,bps,asset,shard,kind,' +
  'phase,guards,accounts,amounts,effective_at,meta,leaf'

function readRow(value: unknown): JournalEntry {
  const row = readMembers(value, ROW)
  return {
    id: readMatching(row['id'], UUID),
    owner: readId(row['owner']),
    seq: readInt8(row['seq']),
    at: readInstant(row['at']),
    amount: readInt8(row['amount']),
    rest: readInt8(row['rest']),
    fee: readInt8(row['fee']),
    payee: readId(row['payee']),
    expiresAt: readNullable(row['expires_at'], readInstant),
    endpoint: readInteger(row['endpoint'], INT4_MAX),
    priceVersion: readInteger(row['price_version'], INT4_MAX),
    bps: readInteger(row['bps'], INT2_MAX),
    asset: readInteger(row['asset'], INT2_MAX),
    shard: readInteger(row['shard'], INT2_MAX),
    kind: readInteger(row['kind'], INT2_MAX),
    phase: readInteger(row['phase'], INT2_MAX),
    guards: readNullable(row['guards'], readIds),
    accounts: readNullable(row['accounts'], readIds),
    amounts: readNullable(row['amounts'], (value) => readList(value, readInt8)),
    effectiveAt: readNullable(row['effective_at'], readInstant),
    meta: readNullable(row['meta'], readString),
    leaf: readMatching(row['leaf'], SHA256),
  }
}

function readPosting(value: unknown): PostingLine {
  const { account, asset, amount } = readMembers(value, 'account,asset,amount')
  return { account: readString(account), asset: readString(asset), amount: readInt8(amount) }
}

function readSeal(value: object): SealLine {
  const line = readMembers(value, 'type,shard,seq_from,seq_to,at,prev,hash')
  return {
    type: 'seal',
    shard: readInteger(line['shard'], INT2_MAX),
    seqFrom: readInt8(line['seq_from']),
    seqTo: readInt8(line['seq_to']),
    at: readInstant(line['at']),
    prev: readMatching(line['prev'], LINK),
    hash: readMatching(line['hash'], SHA256),
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const SHA256 = /^[0-9a-f]{64}$/
const LINK = /^(?:00|[0-9a-f]{64})$/
const DIGITS = /^(?:0|-?[1-9]\d{0,18})$/
const INT2_MAX = 2 ** 15 - 1
const INT4_MAX = 2 ** 31 - 1

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new FormatError('not JSON')
  }
}

/** Returns an object that has exactly these members, in this order. */
function readMembers(value: unknown, names: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && Object.keys(value).join() === names) {
    return value as Record<string, unknown>
  }
  throw new FormatError(`not an object with exactly the members ${names}`)
}

function readString(value: unknown): string {
  if (typeof value === 'string') return value
  throw new FormatError(`not a string: ${String(value)}`)
}

function readMatching(value: unknown, pattern: RegExp): string {
  if (typeof value === 'string' && pattern.test(value)) return value
  throw new FormatError(`not of the form ${pattern.source}: ${String(value)}`)
}

function readInt8(value: unknown): bigint {
  const number = BigInt(readMatching(value, DIGITS))
  if (BigInt.asIntN(64, number) === number) return number
  throw new FormatError(`beyond 64 bits: ${number}`)
}

const readId = (value: unknown): string => String(readInt8(value))
const readIds = (value: unknown): readonly string[] => readList(value, readId)

function readInteger(value: unknown, max: number): number {
  if (Number.isInteger(value) && Number(value) <= max && Number(value) >= -max - 1) {
    return value as number
  }
  throw new FormatError(`not an integer up to ${max}: ${String(value)}`)
}

function readInstant(value: unknown): string {
  const text = readString(value)
  if (parseInstant(text) === undefined) throw new FormatError(`not an instant: ${text}`)
  return text
}

const readNullable = <T>(value: unknown, read: (value: unknown) => T): T | null =>
  value === null ? null : read(value)

function readList<T>(value: unknown, read: (value: unknown) => T): readonly T[] {
  if (Array.isArray(value)) return value.map(read)
  throw new FormatError('not an array')
}

function readBounds(value: unknown): ShardBounds {
  if (typeof value !== 'object' || value === null) throw new FormatError('shard bounds missing')
  return new Map(
    Object.entries(value).map(([shard, seq]) => [
      readInteger(Number(readMatching(shard, DIGITS)), INT2_MAX),
      readInt8(seq),
    ]),
  )
}
