import { type Call, type DataPlugin, defineService, Reply, usd } from 'agenthub/plugin'
import { answer, type EndpointName } from './answers/answer.ts'
import type { QueryParameters } from './answers/query.ts'
import { briefInput, briefOutput, changesInput, feedInput, listOutput } from './answers/schemas.ts'
import { commandsOf } from './commands.ts'
import { ingestionCommands } from './ingest/commands.ts'
import { createIngestion } from './ingest/index.ts'
import { loadSamples } from './sample/load.ts'
import { gauges } from './store/overview.ts'
import { openStore } from './store/store.ts'

const DEADLINE_SECONDS = 15
const NOTHING_YET = {
  title: 'No data yet',
  status: 503,
  code: 'no_snapshot',
  detail: 'No day of the official journal is complete yet. You were not charged.',
}

/** EU energy tenders from the official journal: changes, daily brief, open tenders. */
const tenders: DataPlugin = {
  slug: 'tenders',
  migrations: new URL('./migrations/', import.meta.url),
  open({ database, clock, sandbox, ...host }) {
    const store = openStore(database, clock)
    const ingestion = createIngestion({ host: { ...host, clock }, database, store })
    const prepared = once(() => (sandbox ? loadSamples(database, clock) : Promise.resolve()))
    const ask = async (endpoint: EndpointName, { input, charge }: Call<QueryParameters>) => {
      await prepared()
      const response = await answer(database, endpoint, input, clock.now())
      if (!response) return new Reply(NOTHING_YET, { status: 503 })
      if (response.stale) charge(usd('0')) // reported as such, and free of charge
      return response
    }
    return defineService({
      slug: 'tenders',
      name: 'EU energy tenders',
      category: 'data',
      provider: 'agenthub',
      summary:
        'Energy procurement from the official journal of the EU: official changes, a daily ' +
        'action brief and a feed of opportunities, with official links.',
      endpoints: {
        'GET /v1/changes': {
          summary: 'Changes of deadlines, values, documents, status and scope, with evidence.',
          price: usd('0.0500'),
          input: changesInput,
          output: listOutput,
          deadlineSeconds: DEADLINE_SECONDS,
          handle: (call) => ask('changes', call),
        },
        'GET /v1/daily-action-brief': {
          summary:
            'Newly published, officially changed, and closing within seven days: ' +
            'at most 100 of each, and how many there are.',
          price: usd('0.0500'),
          input: briefInput,
          output: briefOutput,
          deadlineSeconds: DEADLINE_SECONDS,
          handle: (call) => ask('brief', call),
        },
        'GET /v1/feed': {
          summary: 'Opportunities by country, CPV prefix, kind, relevance and status.',
          price: usd('0.0100'),
          input: feedInput,
          output: listOutput,
          deadlineSeconds: DEADLINE_SECONDS,
          handle: (call) => ask('feed', call),
        },
      },
      commands: { ...commandsOf({ database, clock, ingestion }), ...ingestionCommands(ingestion) },
      schedules: ingestion.schedules,
      gauges: () => gauges(database),
      isListed: async () => sandbox || (await hasLive(database)),
    })
  },
}

export default tenders

/** Returns true if a day of the official journal is complete. */
async function hasLive(database: Parameters<typeof answer>[0]): Promise<boolean> {
  const { rows } = await database.query<{ live: boolean }>(
    `SELECT EXISTS (SELECT FROM snapshot WHERE source = 'live' AND closed_at IS NOT NULL) AS live`,
  )
  return rows[0]?.live ?? false
}

/** Runs a task once; after a failure the next caller retries. */
function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () =>
    (done ??= work().catch((error: unknown) => {
      done = undefined
      throw error
    }))
}
