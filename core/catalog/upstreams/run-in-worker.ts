import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { Fault } from '../../errors.ts'

const WORKERS_MAX = 2

let runningWorkers = 0

/** A task exceeded its time or memory limit. */
export class WorkerLimitExceeded extends Error {
  override readonly name = 'WorkerLimitExceeded'
}

/**
 * Processes untrusted input in a worker thread, so that expensive input cannot block the hub.
 * Returns the worker's first message that is no question.
 * @param answer answers a question of the worker, and ends when the signal aborts; undefined for a
 *   message that is the result
 * @throws WorkerLimitExceeded; Fault `rate_limited` while two other workers run
 */
export async function runInWorker<Message>(
  thread: URL,
  workerData: unknown,
  { deadlineMs, heapMb }: { readonly deadlineMs: number; readonly heapMb: number },
  answer: (message: Message, signal: AbortSignal) => Promise<unknown> | undefined = () => undefined,
): Promise<Message> {
  if (runningWorkers >= WORKERS_MAX) {
    const headers = { 'Retry-After': '5' }
    throw new Fault('rate_limited', 'The hub is processing other documents. Retry in 5 seconds.', {
      headers,
    })
  }
  const resourceLimits = { maxOldGenerationSizeMb: heapMb }
  const worker = new Worker(thread, { workerData, env: {}, resourceLimits })
  runningWorkers += 1
  try {
    const signal = AbortSignal.timeout(deadlineMs)
    for (;;) {
      const [message] = (await once(worker, 'message', { signal })) as [Message]
      const answered = answer(message, signal)
      if (answered === undefined) return message
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- of windows only
      worker.postMessage(await answered)
    }
  } catch (error) {
    if (error instanceof Fault) throw error
    throw new WorkerLimitExceeded('the worker exceeded its time or memory limit', { cause: error })
  } finally {
    runningWorkers -= 1
    await worker.terminate()
  }
}
