import { parentPort, workerData } from 'node:worker_threads'
import { Fault } from '../../../errors.ts'
import { readOpenApi } from './read.ts'

/** What a worker does: reads one document, says what it understood or why it did not, and ends. */
const { text, only } = workerData as { readonly text: string; readonly only: readonly string[] }
try {
  say({ understood: readOpenApi(text, only) })
} catch (error) {
  if (!(error instanceof Fault)) throw error
  const { message: detail } = error
  say({ detail })
}

function say(message: unknown): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is of windows
  parentPort?.postMessage(message)
}
