/**
 * A place in the order of statements: value date, then shard, then sequence. What "lies up to" a
 * point is everything at or before it.
 */
export interface Point {
  /** ISO 8601 in UTC, to the microsecond: of one length, so that text compares as time does. */
  readonly at: string
  readonly shard: number
  readonly seq: bigint
}

/** The point of an instant: up to it lies what has a value date before the instant. */
export const startOf = (instant: Date): Point => ({
  at: instant.toISOString().replace('Z', '000Z'),
  shard: -1,
  seq: 0n,
})

export function isAfter(a: Point, b: Point): boolean {
  if (a.at !== b.at) return a.at > b.at
  return a.shard === b.shard ? a.seq > b.seq : a.shard > b.shard
}

/** For Array.sort. */
export const inOrder = (a: Point, b: Point): number => (isAfter(a, b) ? 1 : -1)

/** A point as a cursor. */
export const writePoint = ({ at, shard, seq }: Point): string => `${at}.${shard}.${seq}`

const CURSOR = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)\.(\d{1,4})\.(\d{1,18})$/

/** @throws RangeError for text that `writePoint` cannot have written */
export function parsePoint(cursor: string): Point {
  const [, at = '', shard, seq = ''] = CURSOR.exec(cursor) ?? []
  const exists = !Number.isNaN(new Date(at).getTime())
  if (!exists) throw new RangeError(`not a cursor of a statement: ${cursor}`)
  return { at, shard: Number(shard), seq: BigInt(seq) }
}

/** The parameters of the functions `cut`, `late` and `totals_at` of the database. */
export const valuesOf = ({ at, shard, seq }: Point): readonly [string, number, bigint] => [
  at,
  shard,
  seq,
]
