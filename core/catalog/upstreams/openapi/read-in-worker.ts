import { Fault } from '../../../errors.ts'
import { runInWorker, WorkerLimitExceeded } from '../run-in-worker.ts'
import type { FetchDocuments } from './bundle.ts'
import type { ImportedApi } from './read.ts'
import type { ReadTask } from './read-worker.ts'

const LIMITS = { deadlineMs: 60_000, heapMb: 1_024 } as const

type WorkerMessage =
  | { readonly ask: readonly string[] }
  | { readonly api: ImportedApi }
  | { readonly detail: string }

/**
 * Reads an OpenAPI document in a worker for up to 60 seconds, including the time to fetch others.
 * @param fetchDocuments fetches the documents that it references
 * @throws Fault `openapi_unreadable`, `rate_limited`
 */
export async function readOpenApiInWorker(
  task: ReadTask,
  fetchDocuments: FetchDocuments,
): Promise<ImportedApi> {
  try {
    const thread = new URL('./read-worker.ts', import.meta.url)
    const reply = (message: WorkerMessage, signal: AbortSignal) =>
      'ask' in message ? fetchDocuments(message.ask, signal) : undefined
    const message = await runInWorker<WorkerMessage>(thread, task, LIMITS, reply)
    if ('api' in message) return message.api
    throw new Fault('openapi_unreadable', 'detail' in message ? message.detail : undefined)
  } catch (error) {
    if (!(error instanceof WorkerLimitExceeded)) throw error
    const detail =
      `Reading the document takes more than ${LIMITS.deadlineMs / 1_000} seconds or ` +
      `${LIMITS.heapMb} MiB. Select operations with "only", or send JSON, which is read faster.`
    throw new Fault('openapi_unreadable', detail, { cause: error })
  }
}
