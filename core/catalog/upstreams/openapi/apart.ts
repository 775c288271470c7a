import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { Fault } from '../../../errors.ts'
import type { Understood } from './read.ts'

const DEADLINE_MS = 20_000
const HEAP_MB = 512
const AT_ONCE = 2

type Told = { readonly understood: Understood } | { readonly detail: string }

let running = 0

/**
 * Reads an OpenAPI document of somebody's in a thread of its own: what is written to take long
 * holds up nobody else, and is given up after 20 seconds.
 * @throws Fault `openapi_unreadable`; `rate_limited` while two others are read
 */
export async function readApart(text: string): Promise<Understood> {
  if (running >= AT_ONCE) {
    const headers = { 'Retry-After': '5' }
    throw new Fault('rate_limited', 'Other documents are being read.', { headers })
  }
  running += 1
  const worker = new Worker(new URL('./thread.ts', import.meta.url), {
    workerData: text,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
  })
  try {
    const signal = AbortSignal.timeout(DEADLINE_MS)
    const [told] = (await once(worker, 'message', { signal })) as [Told]
    if ('understood' in told) return told.understood
    throw new Fault('openapi_unreadable', told.detail)
  } catch (error) {
    if (error instanceof Fault) throw error
    const detail = 'To read it takes too much time or memory.'
    throw new Fault('openapi_unreadable', detail, { cause: error })
  } finally {
    running -= 1
    await worker.terminate()
  }
}
