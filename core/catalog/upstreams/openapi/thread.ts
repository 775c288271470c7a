import { parentPort, workerData } from 'node:worker_threads'
import { Fault } from '../../../errors.ts'
import { readOpenApi } from './read.ts'

/** What a worker does: reads one document, says what it understood or why it did not, and ends. */
try {
  say({ understood: readOpenApi(String(workerData)) })
} catch (error) {
  if (!(error instanceof Fault)) throw error
  const { message: detail } = error
  say({ detail })
}

function say(message: unknown): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is of windows
  parentPort?.postMessage(message)
}
