import type { Pool } from 'pg'
import { type CopyToStreamQuery, to as copyTo } from 'pg-copy-streams'

/** What pg hangs the limit of an answer's time on. */
type Told = CopyToStreamQuery & { readonly callback?: () => void }

/**
 * The lines of a `COPY … TO STDOUT`, some at a time, no faster than they are asked for: whatever
 * the query gives, little of it is in memory. Instants are in UTC.
 */
export async function* copyLines(pool: Pool, select: string): AsyncGenerator<string[]> {
  const client = await pool.connect()
  let sound = false
  try {
    await client.query(`BEGIN READ ONLY; SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO';
      SET LOCAL statement_timeout = 0; SET LOCAL enable_seqscan = off; SET LOCAL jit = off`)
    const stream: Told = client.query(copyTo(`COPY (${select}) TO STDOUT`))
    stream.callback?.() // it may take longer than an answer of the pool, and never says so itself
    stream.setEncoding('utf8')
    let rest = ''
    for await (const chunk of stream as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop()!
      if (lines.length > 0) yield lines
    }
    await client.query('COMMIT')
    sound = true
  } finally {
    client.release(!sound) // a reader that stops early ends its COPY with the connection
  }
}
