import { readFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { privateBytes } from '../browser/watchdog.ts'
import { startManagedProcess } from '../runtime/managed-process.ts'
import { encodeFrame, readFrames } from './frames.ts'
import { MESSAGE_MAX } from './limits.ts'
import type { LocatedPlugin } from './locate.ts'
import type { HostingSettings } from './settings.ts'

/** Worker or process that runs an isolated plugin. */
export interface PluginRuntime {
  readonly send: (text: string) => void
  /** Resolves with the reason of its exit. */
  readonly ended: Promise<string>
  /** Terminates it. @param reason reported by `ended` unless there was an earlier one */
  end(reason?: string): Promise<void>
}

type OnText = (text: string) => void

/** Starts a runtime; if that fails, returns one that has already ended. */
export function startRuntime(launch: () => PluginRuntime): PluginRuntime {
  try {
    return launch()
  } catch (error) {
    const ended = Promise.resolve(`cannot run: ${(error as Error).message}`)
    return { send: () => undefined, ended, end: async () => undefined }
  }
}

const STACK_MB = 4
const YOUNG_MB = 32
/**
 * Heap limit above the plugin's limit. A worker that exceeds its heap limit in one allocation
 * (seen: a string of 100 MB, heap of 64) crashes the whole process, so a timer enforces the
 * plugin's limit.
 */
const HEADROOM_MB = 2_048
const WATCH_MS = 250

/** Starts a worker thread with its own heap: contains loops and leaks, but not malicious code. */
export function runInWorker({ memoryMb }: HostingSettings, onText: OnText): PluginRuntime {
  const worker = new Worker(new URL('./main.ts', import.meta.url), {
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: {
      maxOldGenerationSizeMb: memoryMb + HEADROOM_MB,
      maxYoungGenerationSizeMb: YOUNG_MB,
      stackSizeMb: STACK_MB,
    },
  })
  for (const stream of [worker.stdout, worker.stderr]) discard(stream)
  let why = ''
  let ending: Promise<unknown> | undefined
  const terminate = () => (ending ??= worker.terminate())
  worker.on('error', (error) => (why = error.message))
  worker.on('message', (text: unknown) => {
    if (typeof text === 'string' && text.length <= MESSAGE_MAX) return onText(text)
    why = 'sent an oversized message'
    void terminate()
  })
  const watch = setInterval(() => {
    void endIfAbove(memoryMb, heapOf(worker), end)
  }, WATCH_MS).unref()
  const ended = new Promise<string>((resolve) => {
    worker.once('exit', (code) => {
      clearInterval(watch)
      resolve(why || `ended with ${code}`)
    })
  })
  const end = async (reason = 'was terminated'): Promise<void> => {
    why ||= reason
    await terminate()
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is of windows
  return { send: (text) => worker.postMessage(text), ended, end }
}

async function endIfAbove(
  mb: number,
  used: Promise<number>,
  end: PluginRuntime['end'],
): Promise<void> {
  if ((await used) > mb * 1_048_576) await end('used too much memory')
}

/** Heap and external memory in bytes; 0 after exit. */
const heapOf = (worker: Worker): Promise<number> =>
  worker.getHeapStatistics().then(
    ({ used_heap_size: heap, external_memory: buffers }) => heap + buffers,
    () => 0,
  )

const CORE_FOLDER = fileURLToPath(new URL('../', import.meta.url))
const HUB_FOLDER = dirname(CORE_FOLDER.replace(/\/$/, ''))
/** Maximum bytes of unread messages; more than all pending calls and responses together. */
const UNREAD_BYTES_MAX = 256 * 1_048_576
const OUTPUT_BYTES_PER_SECOND = 65_536

/**
 * Starts a process without environment, sockets and child processes, which can read only the files
 * of the plugin and of its runtime. `node` must satisfy `blocksSockets`.
 */
export function runInProcess(
  { memoryMb, node }: HostingSettings,
  { folder }: LocatedPlugin,
  onText: OnText,
): PluginRuntime {
  const readable = [CORE_FOLDER, join(HUB_FOLDER, 'package.json'), importableFolder(folder)]
  const args = [
    '--permission',
    ...readable.map((path) => `--allow-fs-read=${path}`),
    `--max-old-space-size=${memoryMb}`,
    '--disable-proto=delete',
    '--no-warnings',
    fileURLToPath(new URL('./main.ts', import.meta.url)),
  ]
  const child = startManagedProcess('/usr/bin/env', ['-i', node, ...args], {
    cwd: '/',
    env: {},
    pipes: true,
    printRate: OUTPUT_BYTES_PER_SECOND,
  })
  const { input, output } = child.pipes!
  let why = ''
  const end = (reason = 'was terminated'): Promise<void> => {
    why ||= reason
    return child.stop(0)
  }
  readFrames(output, onText).catch((error: Error) => end(error.message))
  const watch = setInterval(() => {
    void endIfAbove(memoryMb * 1.5, memoryOf(child.pid), end)
  }, WATCH_MS).unref()
  const ended = child.exited
    .then((code) => `ended with ${code}: ${child.tail().trim().slice(-500)}`)
    .catch((error: Error) => `was not started: ${error.message}`)
    .then((otherwise) => {
      clearInterval(watch)
      return why || otherwise
    })
  const send = (text: string): void => {
    input.write(encodeFrame(text))
    // Unread messages are buffered here: limit the memory.
    if (input.writableLength > UNREAD_BYTES_MAX) void end('did not read its messages')
  }
  return { send, ended, end }
}

export const NODE_REQUIRED =
  'an untrusted plugin requires a Node 26, which can block sockets: set HUB_PLUGIN_NODE'

const memoryOf = async (pid: number): Promise<number> =>
  privateBytes(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''))

/** Folder that a plugin may import from: its own, or the `node_modules` it is installed in. */
function importableFolder(folder: string): string {
  const at = folder.lastIndexOf(INSTALLED)
  return at < 0 ? folder : folder.slice(0, at + INSTALLED.length)
}
const INSTALLED = `${sep}node_modules${sep}`

/** Drops the output of a worker. */
const discard = (stream: Readable): void => void stream.resume()
