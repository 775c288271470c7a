import { availableParallelism } from 'node:os'
import { type Call, type DataPlugin, defineService, usd } from 'agenthub/plugin'
import { commandsOf } from './commands.ts'
import { costsIn } from './costs.ts'
import { Engines } from './engines.ts'
import { listEngines } from './listed.ts'
import { ENGINES, readEngines } from './llm/settings.ts'
import { Pool } from './pool.ts'
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

const pool = new Pool(new URL('./worker.ts', import.meta.url), {
  size: Math.max(1, availableParallelism() - 1),
  queue: 64,
  deadline: 2_000,
})

const PRICE = usd('0.0030')
const SENTIMENT_PRICE = usd('0.0020')
/** Of a call that the embedded engine answers, and of one that may have to wait for a model. */
const DEADLINE_SECONDS = { local: 15, remote: 90 } as const
/** Left for the answer to be told, after the last engine was given up. */
const MARGIN_MS = 2_000
const KEPT_DAYS = 400

/**
 * Text analysis by the engines that the operator configured; without a word, by the embedded one.
 */
const analysis: DataPlugin = {
  slug: 'analysis',
  migrations: new URL('./migrations/', import.meta.url),
  open({ database, ...host }) {
    const costs = costsIn(database, host.clock)
    const settings = readEngines(host.secret(ENGINES))
    const listed = listEngines(settings, { host, pool })
    const engines = new Engines(listed, { costs, clock: host.clock, log: host.log })
    const isLocal = settings.every(({ dialect }) => dialect === 'embedded')
    const deadlineSeconds = DEADLINE_SECONDS[isLocal ? 'local' : 'remote']
    const run = (request: Request, { signal }: Call<unknown>): Promise<unknown> => {
      const ours = AbortSignal.timeout(deadlineSeconds * 1_000 - MARGIN_MS)
      return engines.answer(request, AbortSignal.any([signal, ours]))
    }
    return defineService({
      slug: 'analysis',
      name: 'Analysis',
      category: 'ai',
      provider: 'agenthub',
      summary: 'Analyzes, classifies and measures texts, and finds what they name.',
      freeCallsPerMonth: 15,
      endpoints: {
        'POST /analyze': {
          summary:
            'Fills in a format of your own from a text: summary, keywords, entities and more.',
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
          summary: 'Tells how positive a text is: as a whole, by sentence and by aspect.',
          price: SENTIMENT_PRICE,
          input: sentimentInput,
          output: sentimentOutput,
          deadlineSeconds,
          handle: (call) => run({ id: call.id, endpoint: 'sentiment', input: call.input }, call),
        },
      },
      commands: commandsOf({ settings, listed, costs }),
      schedules: {
        'prune-costs': { everySeconds: 86_400, run: () => costs.prune(KEPT_DAYS) },
      },
    })
  },
}

export default analysis
