import { availableParallelism } from 'node:os'
import { type Call, type DataPlugin, defineService, usd } from 'agenthub/plugin'
import { commandsOf } from './commands.ts'
import { configureEngines } from './configured-engines.ts'
import { costsIn } from './costs.ts'
import { Engines } from './engines.ts'
import { ENGINES_SECRET, readEngines } from './llm/settings.ts'
import type { Request } from './request.ts'
import {
  analyzeInput,
  analyzeOutput,
  classifyInput,
  classifyOutput,
  entitiesInput,
  entitiesOutput,
  sentimentInput,
  sentimentOutput,
} from './schemas.ts'
import { WorkerPool } from './worker-pool.ts'

const pool = new WorkerPool(new URL('./worker.ts', import.meta.url), {
  size: Math.max(1, availableParallelism() - 1),
  queue: 64,
  deadlineMs: 2_000,
})

const PRICE = usd('0.0030')
const SENTIMENT_PRICE = usd('0.0020')
/** Deadlines of calls served by local engines only, and of those that may wait for a model. */
const DEADLINE_SECONDS = { local: 15, remote: 90 } as const
/** Time reserved for sending the response after the last engine timed out. */
const MARGIN_MS = 2_000
const RETENTION_DAYS = 400

/** Text analysis with the configured engines; the embedded engine by default. */
const analysis: DataPlugin = {
  slug: 'analysis',
  migrations: new URL('./migrations/', import.meta.url),
  open({ database, ...host }) {
    const costs = costsIn(database, host.clock)
    const settings = readEngines(host.secret(ENGINES_SECRET))
    const configured = configureEngines(settings, { host, pool })
    const engines = new Engines(configured, { costs, clock: host.clock, log: host.log })
    const isLocal = settings.every(({ dialect }) => dialect === 'embedded')
    const deadlineSeconds = DEADLINE_SECONDS[isLocal ? 'local' : 'remote']
    const run = (request: Request, { signal }: Call<unknown>): Promise<unknown> => {
      const timeout = AbortSignal.timeout(deadlineSeconds * 1_000 - MARGIN_MS)
      return engines.answer(request, AbortSignal.any([signal, timeout]))
    }
    return defineService({
      slug: 'analysis',
      name: 'Analysis',
      category: 'ai',
      provider: 'agenthub',
      summary: 'Analyzes and classifies texts, extracts entities and measures sentiment.',
      freeCallsPerMonth: 15,
      endpoints: {
        'POST /analyze': {
          summary:
            'Fills your own output format from a text: summary, keywords, entities and more.',
          price: PRICE,
          input: analyzeInput,
          output: analyzeOutput,
          deadlineSeconds,
          handle: (call) => run({ id: call.id, endpoint: 'analyze', input: call.input }, call),
        },
        'POST /classify': {
          summary: 'Chooses among your categories, with a confidence for each.',
          price: PRICE,
          input: classifyInput,
          output: classifyOutput,
          deadlineSeconds,
          handle: (call) => run({ id: call.id, endpoint: 'classify', input: call.input }, call),
        },
        'POST /extract-entities': {
          summary: 'Finds people, organizations, locations, dates, amounts and products.',
          price: PRICE,
          input: entitiesInput,
          output: entitiesOutput,
          deadlineSeconds,
          handle: (call) =>
            run({ id: call.id, endpoint: 'extract-entities', input: call.input }, call),
        },
        'POST /sentiment': {
          summary: 'Measures the sentiment of a text overall, by sentence and by aspect.',
          price: SENTIMENT_PRICE,
          input: sentimentInput,
          output: sentimentOutput,
          deadlineSeconds,
          handle: (call) => run({ id: call.id, endpoint: 'sentiment', input: call.input }, call),
        },
      },
      commands: commandsOf({ settings, engines: configured, costs }),
      schedules: {
        'prune-costs': { everySeconds: 86_400, run: () => costs.prune(RETENTION_DAYS) },
      },
    })
  },
}

export default analysis
