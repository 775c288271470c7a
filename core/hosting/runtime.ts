import { readFile } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import { ownBytes } from '../browser/watchdog.ts'
import { keep } from '../runtime/managed-process.ts'
import { frame, readFrames } from './frames.ts'
import { MESSAGE_MAX } from './limits.ts'
import type { Located } from './locate.ts'
import type { HostingSettings } from './settings.ts'

/** Where a plugin runs apart: a worker or a process of its own. */
export interface Seat {
  readonly send: (text: string) => void
  /** Why it ended. */
  readonly ended: Promise<string>
  /** Ends it, whatever it is at. @param why where nothing else was the reason before */
  end(why?: string): Promise<void>
}

type OnText = (text: string) => void

/** A seat that cannot be had, as where no process can be started, is one that has ended. */
export function seated(sit: () => Seat): Seat {
  try {
    return sit()
  } catch (error) {
    const ended = Promise.resolve(`cannot run: ${(error as Error).message}`)
    return { send: () => undefined, ended, end: async () => undefined }
  }
}

const STACK_MB = 4
const YOUNG_MB = 32
/**
 * A worker that asks for more at once than its heap may have takes the whole process with it (seen:
 * one string of 100 MB, heap of 64). So the heap may have far more, and is ended by who watches it.
 */
const HEADROOM_MB = 2_048
const WATCH_MS = 250

/** In this process, with a heap of its own: it contains loops and leaks, and no malice. */
export function sitInWorker({ memoryMb }: HostingSettings, onText: OnText): Seat {
  const worker = new Worker(new URL('./thread.ts', import.meta.url), {
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
    why = 'said more than a message may have'
    void terminate()
  })
  const watch = setInterval(() => {
    void endAbove(memoryMb, heapOf(worker), end)
  }, WATCH_MS).unref()
  const ended = new Promise<string>((resolve) => {
    worker.once('exit', (code) => {
      clearInterval(watch)
      resolve(why || `ended with ${code}`)
    })
  })
  const end = async (reason = 'was told to end'): Promise<void> => {
    why ||= reason
    await terminate()
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is of windows
  return { send: (text) => worker.postMessage(text), ended, end }
}

async function endAbove(mb: number, taken: Promise<number>, end: Seat['end']): Promise<void> {
  if ((await taken) > mb * 1_048_576) await end('took too much memory')
}

/** Heap and buffers; 0 once it has ended. */
const heapOf = (worker: Worker): Promise<number> =>
  worker.getHeapStatistics().then(
    ({ used_heap_size: heap, external_memory: buffers }) => heap + buffers,
    () => 0,
  )

const CORE = fileURLToPath(new URL('../', import.meta.url))
const HOME = dirname(CORE.replace(/\/$/, ''))
/** Bytes of messages that a process has not read: more than all calls and answers at once. */
const UNREAD_MAX = 256 * 1_048_576
const PRINTED_A_SECOND = 65_536

/**
 * In a process of its own with nothing: no environment, no files but the plugin's and those that
 * run it, no sockets, no processes. `node` is one that `isSealed`.
 */
export function sitInProcess(
  { memoryMb, node }: HostingSettings,
  { folder }: Located,
  onText: OnText,
): Seat {
  const readable = [CORE, join(HOME, 'package.json'), packagesOf(folder)]
  const args = [
    '--permission',
    ...readable.map((path) => `--allow-fs-read=${path}`),
    `--max-old-space-size=${memoryMb}`,
    '--disable-proto=delete',
    '--no-warnings',
    fileURLToPath(new URL('./process.ts', import.meta.url)),
  ]
  const kept = keep('/usr/bin/env', ['-i', node, ...args], {
    cwd: '/',
    env: {},
    pipes: true,
    printRate: PRINTED_A_SECOND,
  })
  const { input, output } = kept.pipes!
  let why = ''
  const end = (reason = 'was told to end'): Promise<void> => {
    why ||= reason
    return kept.stop(0)
  }
  readFrames(output, onText).catch((error: Error) => end(error.message))
  const watch = setInterval(() => {
    void endAbove(memoryMb * 1.5, bytesOf(kept.pid), end)
  }, WATCH_MS).unref()
  const ended = kept.exited
    .then((code) => `ended with ${code}: ${kept.tail().trim().slice(-500)}`)
    .catch((error: Error) => `was not started: ${error.message}`)
    .then((otherwise) => {
      clearInterval(watch)
      return why || otherwise
    })
  const send = (text: string): void => {
    input.write(frame(text))
    // What it does not read waits here: nobody has to keep all that it asked for.
    if (input.writableLength > UNREAD_MAX) void end('did not read what it was told')
  }
  return { send, ended, end }
}

export const NO_NODE =
  'what is not trusted needs a Node 26, whose permission model covers sockets: set HUB_PLUGIN_NODE'

const bytesOf = async (pid: number): Promise<number> =>
  ownBytes(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''))

/** What a plugin may import: its own files and, of an installed package, those beside it. */
function packagesOf(folder: string): string {
  const at = folder.lastIndexOf(INSTALLED)
  return at < 0 ? folder : folder.slice(0, at + INSTALLED.length)
}
const INSTALLED = `${sep}node_modules${sep}`

/** What a worker prints is nobody's, and costs nothing. */
const discard = (stream: Readable): void => void stream.resume()
