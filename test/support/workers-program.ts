import { once } from 'node:events'
import { flushCompileCache } from 'node:module'
import { Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sleep } from '../../core/clock.ts'
import { readConfig, secretValues } from '../../core/config.ts'
import { createLog } from '../../core/log.ts'
import { defineService, Reply, s, usd } from '../../core/plugin/index.ts'
import { type Parts, startHub } from '../../server/boot/start.ts'
import { isWorker, runWorker, startWorkers } from '../../server/boot/workers.ts'
import { watchUnhandledErrors } from '../../server/observability/unhandled-errors.ts'

const UNIQUE = { type: 'array', items: {}, uniqueItems: true }

/** Program: hub like `npm start`, alone or with workers, with services for tests. */
const slow = defineService({
  slug: 'slow',
  name: 'Slow',
  category: 'test',
  summary: 'Takes its time.',
  provider: 'example',
  endpoints: {
    'GET /process': {
      summary: 'Which process answers.',
      price: usd('0'),
      input: s.object({}),
      handle: () => ({ pid: process.pid }),
    },
    'GET /memory': {
      summary: 'What this process holds, rubbish aside.',
      price: usd('0'),
      input: s.object({}),
      handle: async () => {
        for (let times = 0; times < 3; times++) {
          await sleep(50)
          collect()
        }
        const { heapUsed, arrayBuffers } = process.memoryUsage()
        return { bytes: heapUsed + arrayBuffers, resources: process.getActiveResourcesInfo() }
      },
    },
    'GET /turn': {
      summary: 'Longest turn of the event loop since the last call.',
      price: usd('0'),
      input: s.object({}),
      handle: async () => {
        await sleep(20) // a turn is recorded at the end of it
        const ms = Math.round(longestMicros / 1_000)
        longestMicros = 0
        return { ms, rss: process.memoryUsage.rss() }
      },
    },
    'GET /spin': {
      summary: 'Holds the event loop.',
      price: usd('0'),
      input: s.object({}),
      handle: () => {
        const before = process.threadCpuUsage()
        while (process.threadCpuUsage(before).user < SPIN_MICROS);
        return {}
      },
    },
    'POST /unique': {
      summary: 'Items that must differ, in the request and the response.',
      price: usd('0.001'),
      input: { json: { ...UNIQUE, maxItems: 100 } },
      handle: ({ input }) => input,
    },
    'GET /unique': {
      summary: 'Many items of which few are permitted.',
      price: usd('0'),
      input: s.object({}),
      output: { json: { ...UNIQUE, maxItems: 100 } },
      handle: () => Array.from({ length: 20_000 }, (_, n) => ({ a: { b: n } })),
    },
    'POST /work': {
      summary: 'Answers after some milliseconds.',
      price: usd('0.001'),
      deadlineSeconds: 5,
      input: s.object({ ms: s.integer() }),
      handle: async ({ input }) => {
        await sleep(input.ms)
        return { pid: process.pid }
      },
    },
    'POST /leak': {
      summary: 'Leaves an error to nobody, by a promise or a timer.',
      price: usd('0'),
      input: s.object({ by: s.string() }),
      handle: ({ input }) => {
        const leak = () => {
          throw new Error(`leaked by a ${input.by} with ahk_0123456789abcdefghij`)
        }
        if (input.by === 'timer') setTimeout(leak, 1)
        else void sleep(1).then(leak)
        return { pid: process.pid }
      },
    },
    'GET /large': {
      summary: 'Many bytes for nothing.',
      price: usd('0'),
      input: s.object({ mib: s.string() }),
      handle: ({ input }) =>
        new Reply(Buffer.alloc(Number(input.mib) * 1_048_576, 'x'), {
          headers: { 'content-type': 'application/octet-stream' },
        }),
    },
    'GET /stream': {
      summary: 'Ten pieces in three seconds.',
      price: usd('0.001'),
      streams: true,
      deadlineSeconds: 5,
      input: s.object({}),
      handle: () =>
        new Reply(Readable.from(pieces()), { headers: { 'content-type': 'text/plain' } }),
    },
  },
})

const SPIN_MICROS = 80_000

/**
 * Longest processor time of the event loop between two runs of a timer. Unlike its delay, it does
 * not grow while other processes use the machine.
 */
let longestMicros = 0
let usage = process.threadCpuUsage()
setInterval(() => {
  const { user, system } = process.threadCpuUsage(usage)
  longestMicros = Math.max(longestMicros, user + system)
  usage = process.threadCpuUsage()
}, 5).unref()

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

async function* pieces() {
  for (let i = 0; i < 10; i++) {
    await sleep(300)
    yield `piece ${i}\n`
  }
}

const stopped: Promise<unknown> = once(process, 'SIGTERM')
const config = readConfig()
const log = createLog(config.logLevel, process.stderr, secretValues())
const loadParts = async (): Promise<Parts> => {
  const { plugins, privileged } = await import('../../plugins/index.ts')
  return {
    plugins: [...plugins, slow],
    privileged,
    startJobs: async (...deps) => (await import('../../jobs/index.ts')).startJobs(...deps),
  }
}
const options = { config, loadParts, log, holdMarginSeconds: 1 }
const errors = watchUnhandledErrors(log, config.drain)
if (isWorker()) process.exit(await runWorker(options, stopped, errors))
const running = await (config.workers > 1 ? startWorkers : startHub)(options)
flushCompileCache()
const { url, databaseUrl } = running
process.stdout.write(`${JSON.stringify({ url, databaseUrl })}\n`)
await Promise.race([stopped, errors.occurred])
await running.stop()
process.exitCode = errors.exitCode
