import { parentPort } from 'node:worker_threads'
import { Inside } from './inside.ts'

/** What a worker begins with: see `Inside`. */
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is of windows
const inside = new Inside((text) => parentPort?.postMessage(text))
parentPort?.on('message', (text: string) => inside.take(text))
// A promise that a plugin has forgotten is no reason to end what it has not.
process.on('unhandledRejection', () => undefined)
