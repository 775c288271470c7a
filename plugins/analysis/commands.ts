import type { Command, Invocation } from 'agenthub/plugin'
import type { Costs, EngineDay } from './costs.ts'
import type { ConfiguredEngine } from './engines.ts'
import type { EngineSettings, ModelSettings } from './llm/settings.ts'
import { nameOf } from './llm/settings.ts'
import { Spending } from './llm/spending.ts'

interface CommandDeps {
  readonly settings: readonly EngineSettings[]
  readonly engines: readonly ConfiguredEngine[]
  readonly costs: Costs
}

const JSON_OPTION = { json: { type: 'boolean' } } as const

/** Operator commands: `npm run analysis -- NAME`. */
export const commandsOf = (deps: CommandDeps): Readonly<Record<string, Command>> => ({
  engines: {
    usage: '[--try] [--json]',
    about: 'Lists the engines in order of use; --try sends each a test request.',
    options: { ...JSON_OPTION, try: { type: 'boolean' } },
    run: (invocation) => engines(deps, invocation),
  },
  costs: {
    usage: '[--days N] [--json]',
    about: 'Shows engine costs by day in microdollars; default 31 days.',
    options: { ...JSON_OPTION, days: { type: 'string' } },
    run: (invocation) => costs(deps, invocation),
  },
})

const engines = async (
  { settings, engines: configured, costs }: CommandDeps,
  invocation: Invocation,
) => {
  const { values, write } = invocation
  const rows: Record<string, string>[] = []
  for (const [index, one] of settings.entries()) {
    const engine = configured[index]
    const outcome =
      values['try'] && engine ? await testEngine(engine, invocation.signal) : undefined
    rows.push({
      engine: nameOf(one),
      dialect: one.dialect,
      ...('model' in one ? describeModel(one) : {}),
      today_microdollars: String(await costs.today(nameOf(one))),
      ...(outcome !== undefined && { answer: outcome }),
    })
  }
  await write(values['json'] ? `${JSON.stringify({ engines: rows })}\n` : table(rows))
  return rows.some((row) => row['answer']?.startsWith('no:')) ? 1 : 0
}

const describeModel = (one: ModelSettings): Record<string, string> => ({
  model: one.model,
  url: one.url,
  price_per_million: `${one.input_price}/${one.output_price}`,
  max_cost: String(one.max_cost ?? 'none'),
  max_cost_per_day: String(one.max_cost_per_day ?? 'none'),
})

const TEST_REQUEST = {
  id: '00000000-0000-7000-8000-000000000000',
  endpoint: 'classify',
  input: { text: 'The invoice is wrong.', categories: ['billing', 'travel'] },
} as const

/** Sends an engine a question with a known answer. Not recorded as a call. */
const testEngine = async (engine: ConfiguredEngine, signal: AbortSignal): Promise<string> => {
  try {
    if (engine.kind === 'local') {
      await engine.answer(TEST_REQUEST, signal)
      return 'yes'
    }
    const spending = new Spending(engine.prices)
    const { readRequest } = await import('./request.ts')
    const { found } = await engine.answer(readRequest(TEST_REQUEST), spending, signal)
    const label = found.kind === 'classify' ? found.value.labels[0] : undefined
    return `yes: ${label ?? 'nothing'}, ${spending.cost} microdollars`
  } catch (error) {
    return `no: ${error instanceof Error ? error.message : 'unknown'}`
  }
}

const DEFAULT_DAYS = 31

const costs = async ({ costs: store }: CommandDeps, { values, write }: Invocation) => {
  const days = Math.min(4_000, Math.max(1, Number(values['days'] ?? DEFAULT_DAYS) || DEFAULT_DAYS))
  const rows = (await store.days(days)).map(textOf)
  await write(values['json'] ? `${JSON.stringify({ days: rows })}\n` : table(rows))
  return 0
}

const textOf = (row: EngineDay): Record<string, string> =>
  Object.fromEntries(Object.entries(row).map(([key, value]) => [key, String(value)]))

/** Formats rows as a table with aligned columns. */
const table = (rows: readonly Readonly<Record<string, string>>[]): string => {
  if (rows.length === 0) return 'nothing yet\n'
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const lines = [names, ...rows.map((row) => names.map((name) => row[name] ?? ''))]
  const widths = names.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  )
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('')
}
