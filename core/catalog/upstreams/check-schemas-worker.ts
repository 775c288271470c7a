import { parentPort, workerData } from 'node:worker_threads'
import { findCompileIssues, type LocatedSchema } from './schemas.ts'

/** Worker entry point: compiles the given schemas and posts the issues. */
const issues = findCompileIssues(workerData as readonly LocatedSchema[])
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- applies to windows only
parentPort?.postMessage(issues)
