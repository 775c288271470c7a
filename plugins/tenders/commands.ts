import type { Clock, Command, Database, Invocation } from 'agenthub/plugin'
import { Refusal } from 'agenthub/plugin'
import { answer, ENDPOINTS, type EndpointName } from './answers/answer.ts'
import type { QueryParameters } from './answers/query.ts'
import type { Ingestion } from './ingest/index.ts'
import { type LoadResult, loadFolder } from './store/folder.ts'
import { overview } from './store/overview.ts'

const PAGE = ['limit', 'offset']

/** Query parameters by name; the command line also accepts hyphens. */
const PARAMETERS: Readonly<Record<EndpointName, readonly string[]>> = {
  changes: 'event signal verification_status country cpv_prefix min_score'.split(' ').concat(PAGE),
  brief: [],
  feed: ['country', 'cpv_prefix', 'kind', 'label', 'min_score', 'status', ...PAGE],
}

const SUMMARIES: Readonly<Record<EndpointName, string>> = {
  changes: 'Prints the response of GET /v1/changes.',
  brief: 'Prints the response of GET /v1/daily-action-brief.',
  feed: 'Prints the response of GET /v1/feed.',
}

interface Ports {
  readonly database: Database
  readonly clock: Clock
  readonly ingestion: Pick<Ingestion, 'report'>
}

/** Operator commands for tenders. */
export const commandsOf = (ports: Ports): Readonly<Record<string, Command>> => ({
  load: {
    usage: 'DIR [--json]',
    about: 'Reads notices (XML files, eForms or TED XML) as if they had been published.',
    options: { json: { type: 'boolean' } },
    words: 1,
    run: (invocation) => load(ports, invocation),
  },
  status: {
    usage: '[--json]',
    about: 'Shows the newest snapshots, gaps, pending notices and unreadable documents.',
    options: { json: { type: 'boolean' } },
    run: async ({ write }) => {
      const found = await overview(ports.database)
      const ingestion = await ports.ingestion.report()
      await write(`${JSON.stringify({ ...found, ingestion }, null, 2)}\n`)
      return 0
    },
  },
  ...Object.fromEntries(ENDPOINTS.map((endpoint) => [endpoint, queryCommand(ports, endpoint)])),
})

async function load({ database, clock }: Ports, { words, values, write }: Invocation) {
  const [folder] = words
  if (folder === undefined) throw new Refusal('no_folder', 'Name the folder.')
  const loaded = await loadFolder(database, clock, folder)
  if (values['json']) await write(`${JSON.stringify(loaded)}\n`)
  else {
    const { stored, replaced, unchanged, refused, days } = loaded
    await write(
      `${stored} stored, ${replaced} replaced, ${unchanged} unchanged; ` +
        `published on ${days} days\n${unusedText(loaded)}`,
    )
    for (const { file, reason, detail } of refused) await write(`${file}: ${reason}: ${detail}\n`)
  }
  return 0
}

/** Lines about what was not used: documents set aside by reason, other files, later notices. */
function unusedText({ refused, ignored, later }: LoadResult): string {
  const [first] = refused
  const reasons = [...Map.groupBy(refused, ({ reason }) => reason)]
  const counts = reasons.map(([reason, all]) => `${all.length} ${reason}`).join(', ')
  return [
    ...(first ? [`Refused: ${counts}; the first one is ${first.file}: ${first.detail}`] : []),
    ...(ignored > 0 ? [`Ignored: ${ignored} files that are neither XML, JSON nor tar`] : []),
    ...(later > 0 ? [`Later than the clock: ${later} notices`] : []),
  ]
    .map((line) => `${line}\n`)
    .join('')
}

function queryCommand(ports: Ports, endpoint: EndpointName): Command {
  const names = PARAMETERS[endpoint].flatMap((name) => [name, name.replaceAll('_', '-')])
  const text = (name: string) => [name, { type: 'string' as const }] as const
  return {
    usage: `${PARAMETERS[endpoint].map((name) => `[--${name.replaceAll('_', '-')} …] `).join('')}\
[--clock ISO] [--data DIR] [--json]`,
    about: `${SUMMARIES[endpoint]} With --data: from a folder only, in a temporary database.`,
    options: {
      ...Object.fromEntries([...names, 'clock', 'data'].map(text)),
      json: { type: 'boolean' },
    },
    isTrial: ({ data }) => data !== undefined,
    run: (invocation) => runQuery(ports, endpoint, invocation),
  }
}

async function runQuery(
  { database, clock }: Ports,
  endpoint: EndpointName,
  { values, write, tell }: Invocation,
): Promise<number> {
  const now = values['clock'] === undefined ? clock.now() : instantOf(String(values['clock']))
  const { data } = values
  if (typeof data === 'string') {
    const until = now.toISOString().slice(0, 10)
    const loaded = await loadFolder(database, { now: () => now }, data, until)
    await tell(unusedText(loaded))
    if (loaded.days === 0) {
      await tell(`No notice in ${data} was published by ${until}.\n`)
      return 1
    }
  }
  const parameters: QueryParameters = Object.fromEntries(
    PARAMETERS[endpoint].flatMap((name) => {
      const value = values[name] ?? values[name.replaceAll('_', '-')]
      return value === undefined ? [] : [[name, value] as const]
    }),
  )
  const response = await answer(database, endpoint, parameters, now)
  if (!response) {
    await tell('There is no complete snapshot yet: load a folder, or run backfill.\n')
    return 1
  }
  await write(`${JSON.stringify(response, null, values['json'] ? undefined : 2)}\n`)
  return 0
}

const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/

function instantOf(text: string): Date {
  const date = new Date(text)
  if (ISO.test(text) && !Number.isNaN(date.getTime())) return date
  throw new Refusal('no_instant', `not an instant: ${text} (write 2026-11-21T08:00Z)`)
}
