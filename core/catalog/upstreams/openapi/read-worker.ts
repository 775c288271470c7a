import { once } from 'node:events'
import { parentPort, workerData } from 'node:worker_threads'
import { Fault } from '../../../errors.ts'
import { bundleDocuments, type FetchDocuments } from './bundle.ts'
import { parseDocument } from './parse.ts'
import { type ImportOptions, readSelected, selectPaths } from './read.ts'

/** Data of the worker: a document, its URL if it has one, and the settings of the import. */
export interface ReadTask {
  readonly text: string
  readonly url: string | undefined
  readonly options: ImportOptions
}

/** Worker entry point: reads one document and posts its contents, or why it is unreadable. */
const { text, url, options } = workerData as ReadTask
/** Asks the main thread, which alone may reach other hosts. */
const fetchDocuments: FetchDocuments = async (ask) => {
  post({ ask })
  const [texts] = (await once(parentPort!, 'message')) as [readonly (string | undefined)[]]
  return texts
}
try {
  const selected = selectPaths(parseDocument(text), options.only ?? [])
  post({ api: readSelected(await bundleDocuments(selected, url, fetchDocuments), options) })
} catch (error) {
  if (!(error instanceof Fault)) throw error
  const { message: detail } = error
  post({ detail })
}

function post(message: unknown): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- applies to windows only
  parentPort?.postMessage(message)
}
