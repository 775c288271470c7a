import type { Pool } from 'pg'
import type { Clock } from '../../../clock.ts'
import type { Log } from '../../../log.ts'
import type { Candidate } from '../store.ts'
import { type Embedder, likeness } from './embedder.ts'

/** How like the query a candidate is, −1 to 1; one that was not read yet is like the others. */
export type Likeness = (candidate: Candidate) => number

export interface MeaningPorts {
  readonly pool: Pool
  readonly embedder: Embedder
  readonly clock: Clock
  readonly log: Log
}

/** A search waits so long for the engine; later it is ranked by its words alone. */
const WAIT_MS = 600
/** An engine that failed is left in peace for so long. */
const PAUSE_MS = 30_000
/** Queries whose vectors are kept: many ask the same. */
const KEPT = 500

const READ = `
  SELECT e.kind || ' ' || e.id AS key, m.vector
  FROM unnest($2::text[], $3::text[]) c (kind, id) JOIN hub.search_entry e USING (kind, id)
  JOIN hub.search_meaning m ON m.model = $1 AND m.text_hash = e.text_hash`

/** Compares queries with what an engine of embeddings made of the documents. One per process. */
export class Meaning {
  readonly #ports: MeaningPorts
  readonly #kept = new Map<string, Float32Array>()
  #pausedUntil = 0

  constructor(ports: MeaningPorts) {
    this.#ports = ports
  }

  /** The vector of a query; undefined when the engine is not there in time. */
  async of(query: string): Promise<Float32Array | undefined> {
    const known = this.#kept.get(query)
    if (known) return known
    const { embedder, clock, log } = this.#ports
    if (query.trim() === '' || clock.now().getTime() < this.#pausedUntil) return undefined
    try {
      const [vector] = await embedder.embed([query], WAIT_MS)
      this.#keep(query, vector!)
      return vector
    } catch (error) {
      this.#pausedUntil = clock.now().getTime() + PAUSE_MS
      log.warn({ err: error }, 'searches are ranked by words alone')
      return undefined
    }
  }

  /** Reads what is known of the candidates. */
  async compare(vector: Float32Array, candidates: readonly Candidate[]): Promise<Likeness> {
    const { pool, embedder } = this.#ports
    const { rows } = await pool.query<{ key: string; vector: Buffer }>(READ, [
      embedder.model,
      candidates.map(({ kind }) => kind),
      candidates.map(({ id }) => id),
    ])
    const known = new Map(rows.map((row) => [row.key, likeness(vector, row.vector)]))
    const mean = [...known.values()].reduce((sum, each) => sum + each, 0) / (known.size || 1)
    return ({ kind, id }) => known.get(`${kind} ${id}`) ?? mean
  }

  #keep(query: string, vector: Float32Array): void {
    const [oldest] = this.#kept.keys()
    if (this.#kept.size >= KEPT && oldest !== undefined) this.#kept.delete(oldest)
    this.#kept.set(query, vector)
  }
}
