import type { Pool } from 'pg'
import type { RecentReads } from '../../core/db/recent-reads.ts'
import type { RestReply } from './route.ts'

/** Header of data that may be some seconds old: the instant as of which it is complete. */
const DATA_AS_OF = 'X-Data-As-Of'

/** Replies with data that may be some seconds old. `handle` only reads, and may run twice. */
export async function replyRecent(
  reads: RecentReads,
  handle: (pool: Pool) => Promise<RestReply>,
): Promise<RestReply> {
  const { result, asOf } = await reads.read(handle)
  if (asOf === undefined) return result
  return { ...result, headers: { ...result.headers, [DATA_AS_OF]: asOf.toISOString() } }
}

/** Returns the instant as of which the data of a reply is complete; undefined: it is current. */
export function dataAsOf({ headers }: RestReply): Date | undefined {
  const text = headers?.[DATA_AS_OF]
  return typeof text === 'string' ? new Date(text) : undefined
}
