import { syncBuiltinESMExports } from 'node:module'
import { Socket } from 'node:net'
import os from 'node:os'
import v8 from 'node:v8'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { encodeFrame, readFrames } from './frames.ts'
import { PluginRunner } from './plugin-runner.ts'

/** Entry point of an isolated plugin, in a worker thread or in its own process. */

/** Functions that Node's permission model leaves open: they affect other processes. */
const UNSAFE_FUNCTIONS = [
  'kill',
  '_kill',
  '_debugProcess',
  '_debugEnd',
  'setuid',
  'setgid',
  'seteuid',
  'setegid',
]

function removeUnsafeFunctions(): void {
  const refuse = (): never => {
    throw Object.assign(new Error('Access to this API has been restricted.'), {
      code: 'ERR_ACCESS_DENIED',
    })
  }
  for (const name of UNSAFE_FUNCTIONS) Object.defineProperty(process, name, { value: refuse })
  Object.defineProperty(os, 'setPriority', { value: refuse })
  Object.defineProperty(v8, 'setFlagsFromString', { value: refuse })
  syncBuiltinESMExports()
}

function serveThread(port: MessagePort): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is of windows
  const runner = new PluginRunner((text) => port.postMessage(text))
  port.on('message', (text: string) => runner.receive(text))
}

/** Reads messages from file descriptor 3 and writes to 4, until the hub closes the pipe. */
async function serveProcess(): Promise<never> {
  const input = new Socket({ fd: 3, readable: true, writable: false })
  const output = new Socket({ fd: 4, readable: false, writable: true })
  const runner = new PluginRunner((text) => void output.write(encodeFrame(text)))
  removeUnsafeFunctions()
  await readFrames(input, (text) => runner.receive(text))
  process.exit(0)
}

process.on('unhandledRejection', () => undefined) // a forgotten promise must not end other calls
if (parentPort) serveThread(parentPort)
else await serveProcess()
