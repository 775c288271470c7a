import { flushCompileCache } from 'node:module'
import { Readable } from 'node:stream'
import { sleep } from '../../../core/clock.ts'
import { readConfig, secretValues } from '../../../core/config.ts'
import { createLog } from '../../../core/log.ts'
import { defineService, micros, Reply, s, unitPrice, usd } from '../../../core/plugin/index.ts'
import { type Parts, startHub } from '../../../server/boot/start.ts'
import { isWorker, runWorker, startWorkers } from '../../../server/boot/workers.ts'
import { watchUnhandledErrors } from '../../../server/observability/unhandled-errors.ts'
import type { SandboxPlace } from '../../../server/sandbox/start.ts'
import { TOKEN_MICROS, tokensOf } from './metered-usage.ts'

/** Options passed by the parent process as JSON in the first argument. */
export interface RecoveryHubOptions {
  readonly mode: 'serve' | 'jobs'
  /** Database and chain, which outlive the hub. */
  readonly place: SandboxPlace
}

/**
 * Program: the server with its workers, or the jobs alone, like `npm start` and `npm run jobs`, on
 * a database and a chain of others. Prints its URL on one line when it is ready.
 */
const input = s.object({ n: s.integer() })

async function work({ input: { n } }: { readonly input: { readonly n: number } }) {
  await sleep(30)
  return { n }
}

async function* pieces(n: number) {
  for (let i = 0; i < 5; i++) {
    await sleep(100)
    yield `piece ${i} of ${n}\n`
  }
}

const common = { category: 'test', provider: 'example' } as const
const steady = defineService({
  ...common,
  slug: 'steady',
  name: 'Steady',
  summary: 'Responds after some milliseconds.',
  endpoints: {
    'POST /work': {
      summary: 'Works.',
      price: usd('0.001'),
      deadlineSeconds: 5,
      input,
      handle: work,
    },
    'POST /dear': {
      summary: 'Works.',
      price: usd('0.02'),
      deadlineSeconds: 5,
      input,
      handle: work,
    },
    'POST /stream': {
      summary: 'Five pieces in half a second.',
      price: usd('0.001'),
      deadlineSeconds: 5,
      streams: true,
      input,
      handle: ({ input: { n } }) =>
        new Reply(Readable.from(pieces(n)), { headers: { 'content-type': 'text/plain' } }),
    },
  },
})
const quota = defineService({
  ...common,
  slug: 'quota',
  name: 'Quota',
  summary: 'Has more free calls than anybody uses.',
  freeCallsPerMonth: 100_000,
  endpoints: {
    'POST /work': {
      summary: 'Works.',
      price: usd('0.001'),
      deadlineSeconds: 5,
      input,
      handle: work,
    },
  },
})

const metered = (slug: string, freeUnitsPerMonth?: Readonly<Record<string, number>>) =>
  defineService({
    ...common,
    slug,
    name: 'Metered',
    summary: 'Charges for what it uses.',
    ...(freeUnitsPerMonth && { freeUnitsPerMonth }),
    endpoints: {
      'POST /work': {
        summary: 'Works.',
        price: { max: usd('0.001'), unit: 'tokens', of: unitPrice(micros(TOKEN_MICROS), 1) },
        deadlineSeconds: 5,
        input,
        handle: async (call) => {
          call.meter('tokens', tokensOf(call.input.n))
          return work(call)
        },
      },
    },
  })
/** More free tokens than anybody uses. */
const FREE_TOKENS = { tokens: 100_000_000 }

const { mode, place } = JSON.parse(process.argv[2]!) as RecoveryHubOptions
const config = readConfig()
const log = createLog(config.logLevel, process.stderr, secretValues())
const loadParts = async (): Promise<Parts> => {
  const { plugins, privileged } = await import('../../../plugins/index.ts')
  return {
    plugins: [...plugins, steady, quota, metered('metered'), metered('metered-quota', FREE_TOKENS)],
    privileged,
    startJobs: async (...deps) => (await import('../../../jobs/index.ts')).startJobs(...deps),
  }
}
const options = { config, loadParts, log, sandboxPlace: place }
const errors = watchUnhandledErrors(log, config.drain)
const stopped = new Promise<void>((resolve) => process.once('SIGTERM', resolve))
if (isWorker()) process.exit(await runWorker(options, stopped, errors))
const running = await (mode === 'jobs'
  ? startHub({
      ...options,
      config: { ...config, jobs: true },
      servers: { open: () => {}, listen: async () => config.port },
    })
  : startWorkers(options)
).catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`)
  process.exit(1) // its supervisor starts it again
})
flushCompileCache() // a killed process stores nothing
process.stdout.write(`${running.url || mode}\n`)
await Promise.race([stopped, errors.occurred])
await running.stop()
process.exitCode = errors.exitCode
