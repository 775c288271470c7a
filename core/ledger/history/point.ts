/** A position in statements: value date, shard, sequence. "Up to" includes the point. */
export interface Point {
  /** ISO 8601 in UTC with microseconds: fixed length, so that text order is time order. */
  readonly at: string
  readonly shard: number
  readonly seq: bigint
}

/** Returns the point up to which all value dates are earlier than the instant. */
export const startOf = (instant: Date): Point => ({
  at: instant.toISOString().replace('Z', '000Z'),
  shard: -1,
  seq: 0n,
})

export function isAfter(a: Point, b: Point): boolean {
  if (a.at !== b.at) return a.at > b.at
  return a.shard === b.shard ? a.seq > b.seq : a.shard > b.shard
}

export const formatPoint = ({ at, shard, seq }: Point): string => `${at}.${shard}.${seq}`

const CURSOR_PATTERN = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)\.(\d{1,4})\.(\d{1,18})$/

/** @throws RangeError for text that is not a cursor of `formatPoint` */
export function parsePoint(cursor: string): Point {
  const [, at = '', shard, seq = ''] = CURSOR_PATTERN.exec(cursor) ?? []
  const exists = !Number.isNaN(new Date(at).getTime())
  if (!exists) throw new RangeError(`not a cursor of a statement: ${cursor}`)
  return { at, shard: Number(shard), seq: BigInt(seq) }
}

/** Returns a point as parameters of SQL functions such as `ledger.cut`. */
export const toValues = ({ at, shard, seq }: Point): readonly [string, number, bigint] => [
  at,
  shard,
  seq,
]
