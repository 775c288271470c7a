import { LRUCache } from 'lru-cache'
import type { Pool } from 'pg'
import type { Clock } from '../../../clock.ts'
import type { Log } from '../../../log.ts'
import { logFailure, outagesOf } from '../../../outages.ts'
import type { Candidate } from '../check-draft.ts'
import { cosineSimilarity, type Embedder } from './embedder.ts'

/** Similarity of a candidate to the query, −1 to 1; the mean for one not embedded yet. */
export type Similarity = (candidate: Candidate) => number

export interface SemanticRankerDeps {
  readonly pool: Pool
  readonly embedder: Embedder
  readonly clock: Clock
  readonly log: Log
  /**
   * After this time a search is ranked by words only.
   * @defaultValue 600
   */
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 600
/** Time without requests after the embedding API failed. */
const PAUSE_MS = 30_000
/** Cached query vectors. */
const CACHE_MAX = 500

const SELECT_VECTORS = `
  SELECT e.kind || ' ' || e.id AS key, m.vector
  FROM unnest($2::text[], $3::text[]) c (kind, id) JOIN hub.search_entry e USING (kind, id)
  JOIN hub.search_meaning m ON m.model = $1 AND m.text_hash = e.text_hash`

/** Name in the log. */
const COMPONENT = 'embedding API'

/** Compares queries with the embedded documents. One per process. */
export class SemanticRanker {
  readonly #deps: SemanticRankerDeps
  readonly #vectors = new LRUCache<string, Float32Array>({ max: CACHE_MAX })
  #pausedUntil = 0

  constructor(deps: SemanticRankerDeps) {
    this.#deps = deps
  }

  /** Returns the vector of a query; undefined if the embedding API fails or is too slow. */
  async embedQuery(query: string): Promise<Float32Array | undefined> {
    const known = this.#vectors.get(query)
    if (known) return known
    const { embedder, clock, log, timeoutMs = TIMEOUT_MS } = this.#deps
    if (query.trim() === '' || clock.now().getTime() < this.#pausedUntil) return undefined
    try {
      const [vector] = await embedder.embed([query], timeoutMs)
      this.#vectors.set(query, vector)
      outagesOf(log).succeed(COMPONENT)
      return vector
    } catch (err) {
      this.#pausedUntil = clock.now().getTime() + PAUSE_MS
      const fields = { err, component: COMPONENT }
      logFailure(log, 'warn', fields, 'embedding failed; ranking searches by words only')
      return undefined
    }
  }

  /**
   * Reads the vectors of the candidates and compares them with that of a query. Returns undefined
   * if none is embedded by this model.
   */
  async compareWith(
    vector: Float32Array,
    candidates: readonly Candidate[],
  ): Promise<Similarity | undefined> {
    const { pool, embedder } = this.#deps
    const { rows } = await pool.query<{ key: string; vector: Buffer }>(SELECT_VECTORS, [
      embedder.model,
      candidates.map(({ kind }) => kind),
      candidates.map(({ id }) => id),
    ])
    const comparable = rows.filter((row) => row.vector.length === vector.length)
    if (comparable.length === 0) return undefined
    const known = new Map(comparable.map((row) => [row.key, cosineSimilarity(vector, row.vector)]))
    const mean = [...known.values()].reduce((sum, each) => sum + each, 0) / known.size
    return ({ kind, id }) => known.get(`${kind} ${id}`) ?? mean
  }
}
