import { parentPort } from 'node:worker_threads'
import { Refusal } from 'agenthub/plugin'
import type { WorkerResult } from './worker-pool.ts'

/** Handles jobs in this thread: first those of `warmUp`, whose results are not used. */
export async function serveJobs<Job>(
  handle: (job: Job) => unknown,
  warmUp: readonly Job[] = [],
): Promise<void> {
  parentPort?.on('message', (job: Job) => void resultOf(handle, job).then(post))
  for (const job of warmUp) await resultOf(handle, job)
  post('ready')
}

/** Runs one job. A refusal is sent as its parts because classes do not survive cloning. */
async function resultOf<Job>(handle: (job: Job) => unknown, job: Job): Promise<WorkerResult> {
  try {
    return { value: await handle(job) }
  } catch (error) {
    if (error instanceof Refusal) {
      return { refusal: { code: error.code, detail: error.message, extras: error.extras } }
    }
    return { failure: error instanceof Error ? error.message : 'unknown' }
  }
}

function post(message: WorkerResult | 'ready'): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
  parentPort?.postMessage(message)
}
