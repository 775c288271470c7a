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
 * Returns the worker's first message that is no question. An error of the worker is thrown as it
 * is, because a defect of its code is no limit of the input.
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
  const ended = new AbortController()
  worker.on('error', (error) => ended.abort(error))
  worker.on('exit', () => ended.abort(new Error('the worker exited without a result')))
  const deadline = AbortSignal.timeout(deadlineMs)
  const signal = AbortSignal.any([deadline, ended.signal])
  try {
    for (;;) {
      const [message] = (await once(worker, 'message', { signal })) as [Message]
      const answered = answer(message, signal)
      if (answered === undefined) return message
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- of windows only
      worker.postMessage(await answered)
    }
  } catch (error) {
    if (error instanceof Fault) throw error
    const cause: unknown = ended.signal.aborted ? ended.signal.reason : error
    if (!deadline.aborted && !isMemoryLimit(cause)) throw cause
    throw new WorkerLimitExceeded('the worker exceeded its time or memory limit', { cause })
  } finally {
    runningWorkers -= 1
    await worker.terminate()
  }
}

/** Returns true if heap or stack were exceeded, or a string or buffer was too large. */
const isMemoryLimit = (error: unknown): boolean =>
  error instanceof RangeError ||
  (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY'
