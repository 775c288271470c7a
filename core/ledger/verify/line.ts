import type { JournalEntry } from '../entry.ts'
import { microsOf } from './leaf.ts'

/** A line of an export of the form `agenthub-ledger/1`. */
export type Line =
  | { readonly type: 'header'; readonly from: Bounds; readonly to: Bounds }
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
  | SealLine
  | { readonly type: 'end'; readonly entries: bigint }

/** Numbers of the sequence, by shard. */
export type Bounds = ReadonlyMap<number, bigint>

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

/** What a line has that the format does not allow. */
export class FormatError extends Error {
  override readonly name = 'FormatError'
}

/**
 * Reads a line, which may be written in one way only: what is not covered by a hash must not be
 * changeable without being noticed.
 * @throws FormatError
 */
export function parseLine(text: string): Line {
  const value = json(text)
  if (typeof value !== 'object' || value === null) throw new FormatError('not an object')
  if (JSON.stringify(value) !== text) throw new FormatError('not written as the format has it')
  const { type } = value as { type?: unknown }
  switch (type) {
    case 'header': {
      if ('period' in value || 'accounts' in value) {
        throw new FormatError('an export of a period or of some accounts cannot be verified')
      }
      const { format, from, to } = members(value, 'type,format,from,to')
      if (format !== 'agenthub-ledger/1') throw new FormatError('not the format agenthub-ledger/1')
      return { type, from: bounds(from), to: bounds(to) }
    }
    case 'account': {
      const { id, code, asset } = members(value, 'type,id,code,asset')
      return { type, id: digits(id), code: string(code), asset: string(asset) }
    }
    case 'entry': {
      const { event, postings, row } = members(value, 'type,event,postings,row')
      return { type, event: string(event), postings: list(postings, posting), row: rowOf(row) }
    }
    case 'seal':
      return seal(value)
    case 'end':
      return { type, entries: int8(members(value, 'type,entries')['entries']) }
    default:
      throw new FormatError('of no known type')
  }
}

const ROW =
  'id,owner,seq,at,amount,rest,fee,payee,expires_at,endpoint,price_version,bps,asset,shard,kind,' +
  'phase,guards,accounts,amounts,effective_at,meta,leaf'

function rowOf(value: unknown): JournalEntry {
  const row = members(value, ROW)
  return {
    id: match(row['id'], UUID),
    owner: digits(row['owner']),
    seq: int8(row['seq']),
    at: instant(row['at']),
    amount: int8(row['amount']),
    rest: int8(row['rest']),
    fee: int8(row['fee']),
    payee: digits(row['payee']),
    expiresAt: nullable(row['expires_at'], instant),
    endpoint: integer(row['endpoint'], INT4_MAX),
    priceVersion: integer(row['price_version'], INT4_MAX),
    bps: integer(row['bps'], INT2_MAX),
    asset: integer(row['asset'], INT2_MAX),
    shard: integer(row['shard'], INT2_MAX),
    kind: integer(row['kind'], INT2_MAX),
    phase: integer(row['phase'], INT2_MAX),
    guards: nullable(row['guards'], ids),
    accounts: nullable(row['accounts'], ids),
    amounts: nullable(row['amounts'], (value) => list(value, int8)),
    effectiveAt: nullable(row['effective_at'], instant),
    meta: nullable(row['meta'], string),
    leaf: match(row['leaf'], SHA256),
  }
}

function posting(value: unknown): PostingLine {
  const { account, asset, amount } = members(value, 'account,asset,amount')
  return { account: string(account), asset: string(asset), amount: int8(amount) }
}

function seal(value: object): SealLine {
  const line = members(value, 'type,shard,seq_from,seq_to,at,prev,hash')
  return {
    type: 'seal',
    shard: integer(line['shard'], INT2_MAX),
    seqFrom: int8(line['seq_from']),
    seqTo: int8(line['seq_to']),
    at: instant(line['at']),
    prev: match(line['prev'], LINK),
    hash: match(line['hash'], SHA256),
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const SHA256 = /^[0-9a-f]{64}$/
const LINK = /^(?:00|[0-9a-f]{64})$/
const DIGITS = /^(?:0|-?[1-9]\d{0,18})$/
const INT2_MAX = 2 ** 15 - 1
const INT4_MAX = 2 ** 31 - 1

function json(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new FormatError('not JSON')
  }
}

/** The members of an object that has just these, in this order. */
function members(value: unknown, names: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && Object.keys(value).join() === names) {
    return value as Record<string, unknown>
  }
  throw new FormatError(`not an object with the members ${names}`)
}

function string(value: unknown): string {
  if (typeof value === 'string') return value
  throw new FormatError(`not a string: ${String(value)}`)
}

function match(value: unknown, pattern: RegExp): string {
  if (typeof value === 'string' && pattern.test(value)) return value
  throw new FormatError(`not of the form ${pattern.source}: ${String(value)}`)
}

function int8(value: unknown): bigint {
  const number = BigInt(match(value, DIGITS))
  if (BigInt.asIntN(64, number) === number) return number
  throw new FormatError(`beyond 64 bits: ${number}`)
}

const digits = (value: unknown): string => String(int8(value))
const ids = (value: unknown): readonly string[] => list(value, digits)

function integer(value: unknown, max: number): number {
  if (Number.isInteger(value) && Number(value) <= max && Number(value) >= -max - 1) {
    return value as number
  }
  throw new FormatError(`not an integer up to ${max}: ${String(value)}`)
}

function instant(value: unknown): string {
  const text = string(value)
  if (microsOf(text) === undefined) throw new FormatError(`not an instant: ${text}`)
  return text
}

const nullable = <T>(value: unknown, read: (value: unknown) => T): T | null =>
  value === null ? null : read(value)

function list<T>(value: unknown, read: (value: unknown) => T): readonly T[] {
  if (Array.isArray(value)) return value.map(read)
  throw new FormatError('not an array')
}

function bounds(value: unknown): Bounds {
  if (typeof value !== 'object' || value === null) throw new FormatError('no bounds of shards')
  return new Map(
    Object.entries(value).map(([shard, seq]) => [
      integer(Number(match(shard, DIGITS)), INT2_MAX),
      int8(seq),
    ]),
  )
}
