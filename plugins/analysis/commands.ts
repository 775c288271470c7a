import type { Command, Invocation } from 'agenthub/plugin'
import type { Costs, DayOfEngine } from './costs.ts'
import type { Listed } from './engines.ts'
import type { EngineSettings, ModelSettings } from './llm/settings.ts'
import { nameOf } from './llm/settings.ts'
import { Spending } from './llm/spending.ts'
import { readRequest } from './request.ts'

interface Ports {
  readonly settings: readonly EngineSettings[]
  readonly listed: readonly Listed[]
  readonly costs: Costs
}

const JSON_OPTION = { json: { type: 'boolean' } } as const

/** For the operator: `npm run analysis -- NAME`. */
export const commandsOf = (ports: Ports): Readonly<Record<string, Command>> => ({
  engines: {
    usage: '[--try] [--json]',
    about: 'The engines in the order in which they are asked; --try asks each a small question.',
    options: { ...JSON_OPTION, try: { type: 'boolean' } },
    run: (invocation) => engines(ports, invocation),
  },
  costs: {
    usage: '[--days N] [--json]',
    about: 'What engines cost, day by day, in microdollars; default 31 days.',
    options: { ...JSON_OPTION, days: { type: 'string' } },
    run: (invocation) => costs(ports, invocation),
  },
})

const engines = async ({ settings, listed, costs }: Ports, invocation: Invocation) => {
  const { values, write } = invocation
  const rows: Record<string, string>[] = []
  for (const [index, one] of settings.entries()) {
    const engine = listed[index]
    const tried = values['try'] && engine ? await tryOut(engine, invocation.signal) : undefined
    rows.push({
      engine: nameOf(one),
      dialect: one.dialect,
      ...('model' in one ? about(one) : {}),
      today_microdollars: String(await costs.today(nameOf(one))),
      ...(tried !== undefined && { answer: tried }),
    })
  }
  await write(values['json'] ? `${JSON.stringify({ engines: rows })}\n` : table(rows))
  return rows.some((row) => row['answer']?.startsWith('no:')) ? 1 : 0
}

const about = (one: ModelSettings): Record<string, string> => ({
  model: one.model,
  url: one.url,
  price_per_million: `${one.input_price}/${one.output_price}`,
  max_cost: String(one.max_cost ?? 'none'),
  max_cost_per_day: String(one.max_cost_per_day ?? 'none'),
})

const QUESTION = {
  id: '00000000-0000-7000-8000-000000000000',
  endpoint: 'classify',
  input: { text: 'The invoice is wrong.', categories: ['billing', 'travel'] },
} as const

/** What an engine says to a question whose answer is known. Not written down as a call. */
const tryOut = async (engine: Listed, signal: AbortSignal): Promise<string> => {
  try {
    if (engine.kind === 'local') {
      await engine.answer(QUESTION, signal)
      return 'yes'
    }
    const spending = new Spending(engine.prices)
    const { found } = await engine.answer(readRequest(QUESTION), spending, signal)
    const label = found.kind === 'classify' ? found.value.labels[0] : undefined
    return `yes: ${label ?? 'nothing'}, ${spending.cost} microdollars`
  } catch (error) {
    return `no: ${error instanceof Error ? error.message : 'unknown'}`
  }
}

const DAYS = 31

const costs = async ({ costs: store }: Ports, { values, write }: Invocation) => {
  const days = Math.min(4_000, Math.max(1, Number(values['days'] ?? DAYS) || DAYS))
  const rows = (await store.days(days)).map(textOf)
  await write(values['json'] ? `${JSON.stringify({ days: rows })}\n` : table(rows))
  return 0
}

const textOf = (row: DayOfEngine): Record<string, string> =>
  Object.fromEntries(Object.entries(row).map(([key, value]) => [key, String(value)]))

/** Columns as wide as what is in them. */
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
