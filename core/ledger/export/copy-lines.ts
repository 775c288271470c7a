import type { Pool } from 'pg'
import { type CopyToStreamQuery, to as copyTo } from 'pg-copy-streams'

/** COPY stream with the callback that pg uses to clear its query timeout. */
type CopyStream = CopyToStreamQuery & { readonly callback?: () => void }

/** Streams the lines of a `COPY … TO STDOUT` in chunks, with backpressure; instants in UTC. */
export async function* copyLines(pool: Pool, select: string): AsyncGenerator<string[]> {
  const client = await pool.connect()
  let sound = false
  try {
    await client.query(`BEGIN READ ONLY; SET LOCAL timezone = 'UTC'; SET LOCAL datestyle = 'ISO';
      SET LOCAL statement_timeout = 0; SET LOCAL enable_seqscan = off; SET LOCAL jit = off`)
    const stream: CopyStream = client.query(copyTo(`COPY (${select}) TO STDOUT`))
    stream.callback?.() // clears the pool's query timeout, which the stream would never clear
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
    client.release(!sound) // closing the connection ends the COPY of a reader that stopped early
  }
}
