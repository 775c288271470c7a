import { parentPort } from 'node:worker_threads'
import { Refusal } from 'agenthub/plugin'
import { embedded } from './embedded.ts'
import { answer } from './envelope.ts'
import type { Request } from './request.ts'
import type { WorkerResult } from './worker-pool.ts'

/** Handles one request. A refusal is sent as its parts because classes do not survive cloning. */
const resultOf = (request: Request): WorkerResult => {
  try {
    return { value: answer(embedded, request) }
  } catch (error) {
    if (error instanceof Refusal) {
      return { refusal: { code: error.code, detail: error.message, extras: error.extras } }
    }
    return { failure: error instanceof Error ? error.message : 'unknown' }
  }
}

const post = (message: WorkerResult | 'ready'): void => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
  parentPort?.postMessage(message)
}

parentPort?.on('message', (request: Request) => post(resultOf(request)))
// Loads the models before the first request, whose deadline is short.
for (const endpoint of ['extract-entities', 'sentiment'] as const) {
  resultOf({ id: '', endpoint, input: { text: 'Warm words.' } })
}
post('ready')
