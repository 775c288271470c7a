import { parentPort, workerData } from 'node:worker_threads'
import { compileIssues, type Placed } from './compiling.ts'

/** What a worker does: tries the schemas that it was given, says what is wrong, and ends. */
const found = compileIssues(workerData as readonly Placed[])
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is of windows
parentPort?.postMessage(found)
