import { parentPort, workerData } from 'node:worker_threads'
import { Fault } from '../../../errors.ts'
import { readOpenApi } from './read.ts'

/** Worker entry point: reads one document and posts its contents, or why it is unreadable. */
const { text, only } = workerData as { readonly text: string; readonly only: readonly string[] }
try {
  post({ api: readOpenApi(text, only) })
} catch (error) {
  if (!(error instanceof Fault)) throw error
  const { message: detail } = error
  post({ detail })
}

function post(message: unknown): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- applies to windows only
  parentPort?.postMessage(message)
}
