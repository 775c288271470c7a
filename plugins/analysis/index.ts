import { availableParallelism } from 'node:os'
import { type Call, defineService, usd } from 'agenthub/plugin'
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

const DEADLINE_SECONDS = 15
const PRICE = usd('0.0030')
const SENTIMENT_PRICE = usd('0.0020')

const run = (request: Request, { signal }: Call<unknown>): Promise<unknown> =>
  pool.run(request, signal)

/** Text analysis by the embedded engine, in worker threads: the hub's own loop never waits. */
export default defineService({
  slug: 'analysis',
  name: 'Analysis',
  category: 'ai',
  provider: 'agenthub',
  summary: 'Analyzes, classifies and measures English text, and finds what it names.',
  freeCallsPerMonth: 15,
  endpoints: {
    'POST /analyze': {
      summary: 'Fills in a format of your own from a text: summary, keywords, entities and more.',
      price: PRICE,
      input: analyzeInput,
      output: analyzeOutput,
      deadlineSeconds: DEADLINE_SECONDS,
      handle: (call) => run({ id: call.id, endpoint: 'analyze', input: call.input }, call),
    },
    'POST /classify': {
      summary: 'Chooses among your categories, with a confidence for each.',
      price: PRICE,
      input: classifyInput,
      output: classifyOutput,
      deadlineSeconds: DEADLINE_SECONDS,
      handle: (call) => run({ id: call.id, endpoint: 'classify', input: call.input }, call),
    },
    'POST /extract-entities': {
      summary: 'Finds people, organizations, locations, dates, amounts and products.',
      price: PRICE,
      input: entitiesInput,
      output: entitiesOutput,
      deadlineSeconds: DEADLINE_SECONDS,
      handle: (call) => run({ id: call.id, endpoint: 'extract-entities', input: call.input }, call),
    },
    'POST /sentiment': {
      summary: 'Tells how positive a text is: as a whole, by sentence and by aspect.',
      price: SENTIMENT_PRICE,
      input: sentimentInput,
      output: sentimentOutput,
      deadlineSeconds: DEADLINE_SECONDS,
      handle: (call) => run({ id: call.id, endpoint: 'sentiment', input: call.input }, call),
    },
  },
})
