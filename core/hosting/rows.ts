import { deserialize, serialize } from 'node:v8'
import type { Rows } from '../plugin/index.ts'

/**
 * What a plugin that runs apart and its database say to each other. A value that it sends is text,
 * as PostgreSQL reads it: the hub takes nothing apart that it did not write. What comes back are
 * values of JavaScript, as the hub has them itself: bigint, Date and Buffer too.
 */

/** What goes to the hub: null, text, bytes, or a list of such. */
export type Sent = string | null | { readonly base64: string } | readonly Sent[]

/** A value as pg would write it; a Date is told in UTC. */
export function sent(value: unknown): Sent {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return value.map(sent)
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString('base64') }
  return isPlain(value) ? String(value) : JSON.stringify(value)
}

const isPlain = (value: unknown): value is string | number | bigint | boolean =>
  ['string', 'number', 'bigint', 'boolean'].includes(typeof value)

/** Of an array in PostgreSQL. */
const DEPTH_MAX = 6

/** As pg takes it. @throws Error for what `sent` does not say */
export function received(value: unknown, depth = 0): unknown {
  if (value === null || typeof value === 'string') return value
  if (Array.isArray(value) && depth < DEPTH_MAX)
    return value.map((each) => received(each, depth + 1))
  if (typeof value === 'object' && 'base64' in value && typeof value.base64 === 'string') {
    return Buffer.from(value.base64, 'base64')
  }
  throw new Error('this is no value')
}

/** What a statement came to, as pg gives it where rows are arrays. */
export interface Came {
  readonly fields: readonly { readonly name: string }[]
  readonly rows: readonly (readonly unknown[])[]
  readonly rowCount: number | null
  readonly command?: string
}

export const packed = ({ fields, rows, rowCount }: Came): string =>
  serialize({ names: fields.map(({ name }) => name), rows, rowCount }).toString('base64')

export function unpacked<Row>(base64: string): Rows<Row> {
  const { names, rows, rowCount } = deserialize(Buffer.from(base64, 'base64')) as {
    readonly names: readonly string[]
    readonly rows: readonly (readonly unknown[])[]
    readonly rowCount: number | null
  }
  const named = (row: readonly unknown[]) => Object.fromEntries(names.map((n, i) => [n, row[i]]))
  return { rows: rows.map(named) as Row[], rowCount }
}
