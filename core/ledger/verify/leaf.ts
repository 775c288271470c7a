import { hash } from 'node:crypto'
import type { JournalEntry } from '../entry.ts'

const INT2 = 21
const INT4 = 23
const INT8 = 20
const INT8_ARRAY = 1_016
const TIMESTAMPTZ = 1_184
const UUID = 2_950
const JSONB = 3_802
const COLUMN_COUNT = 21
const JSONB_VERSION = 1
/** PostgreSQL's epoch, 2000-01-01. */
const EPOCH_MS = 946_684_800_000n
const FIXED_BYTES = 512
const ELEMENT_BYTES = 12

let buffer = Buffer.allocUnsafe(4_096)
let offset = 0

/**
 * Computes the leaf of a row as `ledger.leaf` does: hexadecimal sha256 of PostgreSQL's binary
 * record (`record_send`) of its columns `id` to `meta`.
 */
export function leafOf(entry: JournalEntry): string {
  startRecord(entry)
  writeInt4(COLUMN_COUNT)
  writeInt4(UUID)
  writeInt4(16)
  offset += buffer.write(entry.id.replaceAll('-', ''), offset, 'hex')
  writeInt8Column(BigInt(entry.owner))
  writeInt8Column(entry.seq)
  writeInstantColumn(entry.at)
  writeInt8Column(entry.amount)
  writeInt8Column(entry.rest)
  writeInt8Column(entry.fee)
  writeInt8Column(BigInt(entry.payee))
  writeInstantColumn(entry.expiresAt)
  writeInt4Column(entry.endpoint)
  writeInt4Column(entry.priceVersion)
  writeInt2Column(entry.bps)
  writeInt2Column(entry.asset)
  writeInt2Column(entry.shard)
  writeInt2Column(entry.kind)
  writeInt2Column(entry.phase)
  writeArrayColumn(entry.guards)
  writeArrayColumn(entry.accounts)
  writeArrayColumn(entry.amounts)
  writeInstantColumn(entry.effectiveAt)
  writeJsonbColumn(entry.meta)
  return hash('sha256', buffer.subarray(0, offset), 'hex')
}

function startRecord({ guards, accounts, amounts, meta }: JournalEntry): void {
  const elements = (guards?.length ?? 0) + (accounts?.length ?? 0) + (amounts?.length ?? 0)
  const size = FIXED_BYTES + elements * ELEMENT_BYTES + (meta === null ? 0 : 3 * meta.length)
  if (size > buffer.length) buffer = Buffer.allocUnsafe(2 * size)
  offset = 0
}

function writeInt4(value: number): void {
  offset = buffer.writeInt32BE(value, offset)
}

function writeInt8(value: bigint): void {
  offset = buffer.writeBigInt64BE(value, offset)
}

function writeInt2Column(value: number): void {
  writeInt4(INT2)
  writeInt4(2)
  offset = buffer.writeInt16BE(value, offset)
}

function writeInt4Column(value: number): void {
  writeInt4(INT4)
  writeInt4(4)
  writeInt4(value)
}

function writeInt8Column(value: bigint): void {
  writeInt4(INT8)
  writeInt4(8)
  writeInt8(value)
}

function writeInstantColumn(text: string | null): void {
  writeInt4(TIMESTAMPTZ)
  if (text === null) return writeInt4(-1)
  writeInt4(8)
  writeInt8(parseInstant(text)!)
}

/** Arrays have one dimension with lower bound 1; empty arrays have no dimension. */
function writeArrayColumn(values: readonly (string | bigint | null)[] | null): void {
  writeInt4(INT8_ARRAY)
  if (values === null) return writeInt4(-1)
  const length = buffer.writeInt32BE(0, offset)
  offset = length
  writeInt4(values.length === 0 ? 0 : 1)
  writeInt4(values.includes(null) ? 1 : 0)
  writeInt4(INT8)
  if (values.length > 0) {
    writeInt4(values.length)
    writeInt4(1)
    for (const value of values) {
      if (value === null) writeInt4(-1)
      else {
        writeInt4(8)
        writeInt8(BigInt(value))
      }
    }
  }
  buffer.writeInt32BE(offset - length, length - 4)
}

function writeJsonbColumn(text: string | null): void {
  writeInt4(JSONB)
  if (text === null) return writeInt4(-1)
  const length = buffer.writeInt32BE(0, offset)
  offset = buffer.writeUInt8(JSONB_VERSION, length)
  offset += buffer.write(text, offset, 'utf8')
  buffer.writeInt32BE(offset - length, length - 4)
}

const INSTANT = /^(\d{4}|[1-9]\d{4,5})(-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z$/
/** Worthwhile because rows of a batch share their instants. */
const CACHED_INSTANTS_MAX = 1_024
const instantCache = new Map<string, bigint>()

/** Converts `2026-11-21T06:04:32.123456Z` to microseconds since 2000; undefined if invalid. */
export function parseInstant(text: string): bigint | undefined {
  const known = instantCache.get(text)
  if (known !== undefined) return known
  const [, year = '', rest = '', micros = ''] = INSTANT.exec(text) ?? []
  const seconds = `${year.length === 4 ? year : `+${year.padStart(6, '0')}`}${rest}.000Z`
  const ms = Date.parse(seconds)
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== seconds) return undefined
  const value = (BigInt(ms) - EPOCH_MS) * 1_000n + BigInt(micros)
  if (instantCache.size >= CACHED_INSTANTS_MAX) instantCache.clear()
  instantCache.set(text, value)
  return value
}
