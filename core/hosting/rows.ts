import { deserialize, serialize } from 'node:v8'
import type { Rows } from '../plugin/index.ts'

/**
 * Encoding of values between an isolated plugin and its database. Parameters are sent as
 * PostgreSQL's text format, so that the hub deserializes only data that it wrote itself. Result
 * rows are serialized by V8, which preserves bigint, Date and Buffer.
 */

/** Encoded parameter: null, text, bytes, or a list of these. */
export type EncodedValue = string | null | { readonly base64: string } | readonly EncodedValue[]

/** Encodes a parameter as pg does; a Date in UTC. */
export function encodeValue(value: unknown): EncodedValue {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return value.map(encodeValue)
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString('base64') }
  return isScalar(value) ? String(value) : JSON.stringify(value)
}

const isScalar = (value: unknown): value is string | number | bigint | boolean =>
  ['string', 'number', 'bigint', 'boolean'].includes(typeof value)

/** Maximum number of dimensions of a PostgreSQL array. */
const DEPTH_MAX = 6

/** Decodes a parameter for pg. @throws Error for a value that `encodeValue` does not produce */
export function decodeValue(value: unknown, depth = 0): unknown {
  if (value === null || typeof value === 'string') return value
  if (Array.isArray(value) && depth < DEPTH_MAX)
    return value.map((each) => decodeValue(each, depth + 1))
  if (typeof value === 'object' && 'base64' in value && typeof value.base64 === 'string') {
    return Buffer.from(value.base64, 'base64')
  }
  throw new Error('invalid parameter value')
}

/** Result of a statement, as returned by pg with `rowMode: 'array'`. */
export interface StatementResult {
  readonly fields: readonly { readonly name: string }[]
  readonly rows: readonly (readonly unknown[])[]
  readonly rowCount: number | null
  readonly command?: string
}

export const packRows = ({ fields, rows, rowCount }: StatementResult): string =>
  serialize({ names: fields.map(({ name }) => name), rows, rowCount }).toString('base64')

export function unpackRows<Row>(base64: string): Rows<Row> {
  const { names, rows, rowCount } = deserialize(Buffer.from(base64, 'base64')) as {
    readonly names: readonly string[]
    readonly rows: readonly (readonly unknown[])[]
    readonly rowCount: number | null
  }
  const named = (row: readonly unknown[]) => Object.fromEntries(names.map((n, i) => [n, row[i]]))
  return { rows: rows.map(named) as Row[], rowCount }
}
