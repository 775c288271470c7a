import type { Pool } from 'pg'
import { type Embedder, packVector } from './embedder.ts'

export interface EmbedDeps {
  readonly pool: Pool
  readonly embedder: Embedder
}

const BATCH_SIZE = 64
/** Limit of one run; the next run continues. */
const BATCHES_MAX = 100
const TIMEOUT_MS = 30_000

const SELECT_MISSING = `
  SELECT DISTINCT ON (e.text_hash) e.text_hash AS hash, hub.search_text(d) AS text
  FROM (SELECT kind, id, text_hash FROM hub.search_entry e WHERE NOT EXISTS (
      SELECT FROM hub.search_meaning m WHERE m.model = $1 AND m.text_hash = e.text_hash)
    LIMIT ${BATCH_SIZE}) e
  JOIN hub.search_document d USING (kind, id)`

const INSERT_EMBEDDINGS = `
  INSERT INTO hub.search_meaning (model, text_hash, vector)
  SELECT $1, * FROM unnest($2::bytea[], $3::bytea[]) ON CONFLICT DO NOTHING`

/** Deletes vectors of texts that no document has any more, and of other models. */
const DELETE_UNUSED = `
  DELETE FROM hub.search_meaning m WHERE m.model <> $1
    OR NOT EXISTS (SELECT FROM hub.search_entry e WHERE e.text_hash = m.text_hash)`

/**
 * Embeds documents that have no vector yet. Each batch is stored before the next.
 * @returns number of embedded texts
 * @throws Error if the embedding API fails; the next run continues
 */
export async function embedDocuments(
  { pool, embedder }: EmbedDeps,
  stopping: AbortSignal,
): Promise<number> {
  let embedded = 0
  for (let batch = 0; batch < BATCHES_MAX && !stopping.aborted; batch++) {
    const { rows } = await pool.query<{ hash: Buffer; text: string }>(SELECT_MISSING, [
      embedder.model,
    ])
    if (rows.length === 0) break
    const vectors = await embedder.embed(
      rows.map(({ text }) => text),
      TIMEOUT_MS,
    )
    await pool.query(INSERT_EMBEDDINGS, [
      embedder.model,
      rows.map(({ hash }) => hash),
      vectors.map(packVector),
    ])
    embedded += rows.length
  }
  return embedded
}

export const deleteUnusedEmbeddings = ({ pool, embedder }: EmbedDeps): Promise<unknown> =>
  pool.query(DELETE_UNUSED, [embedder.model])
