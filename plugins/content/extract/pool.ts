import { availableParallelism } from 'node:os'
import { Piscina } from 'piscina'
import { type Article, type Document, ExtractionError, type ExtractOptions } from './article.ts'
import type { Outcome, Task } from './worker.ts'

/** Time limit per document, including waiting. */
const DEADLINE_MS = 15_000
const QUEUE_MAX = 64
const HEAP_MB = 768
const IDLE_MS = 60_000

let pool: Piscina<Task, Outcome> | undefined

/** Worker threads, started with the first document and stopped when idle. */
const open = (): Piscina<Task, Outcome> =>
  new Piscina({
    filename: new URL('./worker.ts', import.meta.url).href,
    minThreads: 0,
    maxThreads: Math.max(1, availableParallelism() - 1),
    maxQueue: QUEUE_MAX,
    idleTimeout: IDLE_MS,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    env: {},
  }).on('error', () => {}) // a worker that ended after its task was aborted: nobody waits for it

/**
 * Extracts the article of a document in a worker thread, so that the event loop is not blocked and
 * a document that takes too long or too much memory costs a thread, not the process.
 *
 * @param signal aborts the work
 * @throws ExtractionError if the format is unknown or unreadable, or there is no text
 * @throws Error if too many documents are waiting
 */
export async function read(
  document: Document,
  options: ExtractOptions = {},
  signal?: AbortSignal,
): Promise<Article> {
  signal?.throwIfAborted()
  pool ??= open()
  const deadline = AbortSignal.timeout(DEADLINE_MS)
  const ends = signal ? AbortSignal.any([signal, deadline]) : deadline
  try {
    const outcome = await pool.run({ document, options }, { signal: ends })
    if ('article' in outcome) return outcome.article
    throw new ExtractionError(outcome.code, outcome.detail)
  } catch (error) {
    signal?.throwIfAborted()
    if (deadline.aborted || isOutOfMemory(error)) {
      throw new ExtractionError('content_unreadable', 'The document takes too long to read.')
    }
    throw error
  }
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
