import { hash } from 'node:crypto'
import type { JournalEntry } from '../entry.ts'

const INT2 = 21
const INT4 = 23
const INT8 = 20
const INT8_ARRAY = 1_016
const TIMESTAMPTZ = 1_184
const UUID = 2_950
const JSONB = 3_802
const COLUMNS = 21
const JSONB_VERSION = 1
/** PostgreSQL counts from 2000-01-01. */
const EPOCH_MS = 946_684_800_000n
const FIXED_BYTES = 512
const ELEMENT_BYTES = 12

let scratch = Buffer.allocUnsafe(4_096)
let used = 0

/**
 * The leaf of a row, as `ledger.leaf` has it: sha256, in hexadecimal, over PostgreSQL's binary form
 * of the record of its columns `id` to `meta`.
 */
export function leafOf(entry: JournalEntry): string {
  reserve(entry)
  int4(COLUMNS)
  int4(UUID)
  int4(16)
  used += scratch.write(entry.id.replaceAll('-', ''), used, 'hex')
  int8Column(BigInt(entry.owner))
  int8Column(entry.seq)
  instantColumn(entry.at)
  int8Column(entry.amount)
  int8Column(entry.rest)
  int8Column(entry.fee)
  int8Column(BigInt(entry.payee))
  instantColumn(entry.expiresAt)
  int4Column(entry.endpoint)
  int4Column(entry.priceVersion)
  int2Column(entry.bps)
  int2Column(entry.asset)
  int2Column(entry.shard)
  int2Column(entry.kind)
  int2Column(entry.phase)
  arrayColumn(entry.guards)
  arrayColumn(entry.accounts)
  arrayColumn(entry.amounts)
  instantColumn(entry.effectiveAt)
  jsonbColumn(entry.meta)
  return hash('sha256', scratch.subarray(0, used), 'hex')
}

function reserve({ guards, accounts, amounts, meta }: JournalEntry): void {
  const elements = (guards?.length ?? 0) + (accounts?.length ?? 0) + (amounts?.length ?? 0)
  const size = FIXED_BYTES + elements * ELEMENT_BYTES + (meta === null ? 0 : 3 * meta.length)
  if (size > scratch.length) scratch = Buffer.allocUnsafe(2 * size)
  used = 0
}

function int4(value: number): void {
  used = scratch.writeInt32BE(value, used)
}

function int8(value: bigint): void {
  used = scratch.writeBigInt64BE(value, used)
}

function int2Column(value: number): void {
  int4(INT2)
  int4(2)
  used = scratch.writeInt16BE(value, used)
}

function int4Column(value: number): void {
  int4(INT4)
  int4(4)
  int4(value)
}

function int8Column(value: bigint): void {
  int4(INT8)
  int4(8)
  int8(value)
}

function instantColumn(text: string | null): void {
  int4(TIMESTAMPTZ)
  if (text === null) return int4(-1)
  int4(8)
  int8(microsOf(text)!)
}

/** One dimension from 1 on; without elements none at all. */
function arrayColumn(values: readonly (string | bigint | null)[] | null): void {
  int4(INT8_ARRAY)
  if (values === null) return int4(-1)
  const length = scratch.writeInt32BE(0, used)
  used = length
  int4(values.length === 0 ? 0 : 1)
  int4(values.includes(null) ? 1 : 0)
  int4(INT8)
  if (values.length > 0) {
    int4(values.length)
    int4(1)
    for (const value of values) {
      if (value === null) int4(-1)
      else {
        int4(8)
        int8(BigInt(value))
      }
    }
  }
  scratch.writeInt32BE(used - length, length - 4)
}

function jsonbColumn(text: string | null): void {
  int4(JSONB)
  if (text === null) return int4(-1)
  const length = scratch.writeInt32BE(0, used)
  used = scratch.writeUInt8(JSONB_VERSION, length)
  used += scratch.write(text, used, 'utf8')
  scratch.writeInt32BE(used - length, length - 4)
}

const INSTANT = /^(\d{4}|[1-9]\d{4,5})(-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})Z$/
/** Rows of a batch share their instants. */
const RECENT_MAX = 1_024
const recent = new Map<string, bigint>()

/**
 * Microseconds since 2000-01-01 of `2026-11-21T06:04:32.123456Z`; undefined for what is no instant,
 * or is not written in this one way.
 */
export function microsOf(text: string): bigint | undefined {
  const known = recent.get(text)
  if (known !== undefined) return known
  const [, year = '', rest = '', micros = ''] = INSTANT.exec(text) ?? []
  const seconds = `${year.length === 4 ? year : `+${year.padStart(6, '0')}`}${rest}.000Z`
  const ms = Date.parse(seconds)
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== seconds) return undefined
  const value = (BigInt(ms) - EPOCH_MS) * 1_000n + BigInt(micros)
  if (recent.size >= RECENT_MAX) recent.clear()
  recent.set(text, value)
  return value
}
