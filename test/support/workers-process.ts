import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sleep } from '../../core/clock.ts'
import { readConfig, secretValues } from '../../core/config.ts'
import { createLog } from '../../core/log.ts'
import { defineService, Reply, s, usd } from '../../core/plugin/index.ts'
import { startJobs } from '../../jobs/index.ts'
import { plugins, privileged } from '../../plugins/index.ts'
import { startHub } from '../../server/boot/start.ts'
import { isWorker, runWorker, startWorkers } from '../../server/boot/workers.ts'

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
    'GET /delay': {
      summary: 'Longest delay of the event loop since the last call.',
      price: usd('0'),
      input: s.object({}),
      handle: async () => {
        await sleep(20) // a delay is recorded at the end of it
        const { max } = delay
        delay.reset()
        return { ms: Math.round(max / 1e6), rss: process.memoryUsage.rss() }
      },
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

const delay = monitorEventLoopDelay({ resolution: 5 })
delay.enable()

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
const parts = { plugins: [...plugins, slow], privileged, startJobs }
const options = { config, parts, log, holdMarginSeconds: 1 }
if (isWorker()) process.exit(await runWorker(options, stopped))
const running = await (config.workers > 1 ? startWorkers : startHub)(options)
const { url, databaseUrl } = running
process.stdout.write(`${JSON.stringify({ url, databaseUrl })}\n`)
await stopped
await running.stop()
