import { parentPort } from 'node:worker_threads'
import { Refusal } from 'agenthub/plugin'
import { answer } from './answer.ts'
import { embedded } from './embedded.ts'
import type { Outcome } from './pool.ts'
import type { Request } from './request.ts'

/** Answers requests one after another; a refusal travels as its parts, since classes do not. */
const outcomeOf = (request: Request): Outcome => {
  try {
    return { value: answer(embedded, request) }
  } catch (error) {
    if (error instanceof Refusal) {
      return { refusal: { code: error.code, detail: error.message, extras: error.extras } }
    }
    return { failure: error instanceof Error ? error.message : 'unknown' }
  }
}

const tell = (message: Outcome | 'ready'): void => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has none
  parentPort?.postMessage(message)
}

parentPort?.on('message', (request: Request) => tell(outcomeOf(request)))
// Models are read before the first request, whose time is short.
for (const endpoint of ['extract-entities', 'sentiment'] as const) {
  outcomeOf({ id: '', endpoint, input: { text: 'Warm words.' } })
}
tell('ready')
