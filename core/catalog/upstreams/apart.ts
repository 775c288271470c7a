import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { Fault } from '../../errors.ts'

const AT_ONCE = 2

let running = 0

/** What was to be done takes more time or memory than it is worth. */
export class TooMuch extends Error {
  override readonly name = 'TooMuch'
}

export interface Allowance {
  readonly deadlineMs: number
  readonly heapMb: number
}

/**
 * Does something with what somebody wrote in a thread of its own, which answers by one message:
 * what is written to take long holds up nobody else.
 * @throws TooMuch; Fault `rate_limited` while two others are at work
 */
export async function apart<Told>(
  thread: URL,
  workerData: unknown,
  { deadlineMs, heapMb }: Allowance,
): Promise<Told> {
  if (running >= AT_ONCE) {
    const headers = { 'Retry-After': '5' }
    throw new Fault('rate_limited', 'Documents of others are being read.', { headers })
  }
  const resourceLimits = { maxOldGenerationSizeMb: heapMb }
  const worker = new Worker(thread, { workerData, env: {}, resourceLimits })
  running += 1
  try {
    const signal = AbortSignal.timeout(deadlineMs)
    const [told] = (await once(worker, 'message', { signal })) as [Told]
    return told
  } catch (error) {
    throw new TooMuch('it takes too much time or memory', { cause: error })
  } finally {
    running -= 1
    await worker.terminate()
  }
}
