import { Fault } from '../../../errors.ts'
import { runInWorker, WorkerLimitExceeded } from '../run-in-worker.ts'
import type { ImportedApi } from './read.ts'

const LIMITS = { deadlineMs: 20_000, heapMb: 512 } as const

type WorkerMessage = { readonly api: ImportedApi } | { readonly detail: string }

/** Runs `readOpenApi` in a worker for up to 20 seconds. @throws also Fault `rate_limited` */
export async function readOpenApiInWorker(
  text: string,
  only: readonly string[],
): Promise<ImportedApi> {
  try {
    const thread = new URL('./read-worker.ts', import.meta.url)
    const message = await runInWorker<WorkerMessage>(thread, { text, only }, LIMITS)
    if ('api' in message) return message.api
    throw new Fault('openapi_unreadable', message.detail)
  } catch (error) {
    if (!(error instanceof WorkerLimitExceeded)) throw error
    const detail = 'Reading the document takes too much time or memory.'
    throw new Fault('openapi_unreadable', detail, { cause: error })
  }
}
