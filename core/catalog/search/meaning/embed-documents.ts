import type { Pool } from 'pg'
import { type Embedder, packed } from './embedder.ts'

export interface EmbedPorts {
  readonly pool: Pool
  readonly embedder: Embedder
}

const BATCH = 64
/** Of one run; the rest waits for the next. */
const BATCHES = 100
const WAIT_MS = 30_000

const MISSING = `
  SELECT DISTINCT ON (e.text_hash) e.text_hash AS hash, hub.search_text(d) AS text
  FROM (SELECT kind, id, text_hash FROM hub.search_entry e WHERE NOT EXISTS (
      SELECT FROM hub.search_meaning m WHERE m.model = $1 AND m.text_hash = e.text_hash)
    LIMIT ${BATCH}) e
  JOIN hub.search_document d USING (kind, id)`

const KEEP = `
  INSERT INTO hub.search_meaning (model, text_hash, vector)
  SELECT $1, * FROM unnest($2::bytea[], $3::bytea[]) ON CONFLICT DO NOTHING`

/** Texts that no document has any more, and models that are not asked any more. */
const FORGET = `
  DELETE FROM hub.search_meaning m WHERE m.model <> $1
    OR NOT EXISTS (SELECT FROM hub.search_entry e WHERE e.text_hash = m.text_hash)`

/**
 * Has the engine read what it has not read yet, a batch at a time; each is kept when it is there.
 * @returns how many texts were read
 * @throws Error when the engine fails: the next run goes on
 */
export async function embedDocuments(
  { pool, embedder }: EmbedPorts,
  stopping: AbortSignal,
): Promise<number> {
  let read = 0
  for (let batch = 0; batch < BATCHES && !stopping.aborted; batch++) {
    const { rows } = await pool.query<{ hash: Buffer; text: string }>(MISSING, [embedder.model])
    if (rows.length === 0) break
    const vectors = await embedder.embed(
      rows.map(({ text }) => text),
      WAIT_MS,
    )
    await pool.query(KEEP, [embedder.model, rows.map(({ hash }) => hash), vectors.map(packed)])
    read += rows.length
  }
  return read
}

export const forgetMeanings = ({ pool, embedder }: EmbedPorts): Promise<unknown> =>
  pool.query(FORGET, [embedder.model])
