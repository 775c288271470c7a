import type { AnyService, DataPlugin } from 'agenthub/plugin'
import { Client } from 'pg'
import analysis from '../../../../plugins/analysis/index.ts'
import { type ApiResponse, ask } from '../../../support/ask.ts'
import type { TestAgent, TestHub } from '../../../support/hub.ts'
import { type ModelServer, openModelServer } from './model-server.ts'

/** Engine configuration of a test service. */
export type Engine = Readonly<Record<string, unknown>> | 'embedded'

const DIALECTS = {
  chat: ['openai-chat', '/v1'],
  responses: ['openai-responses', '/v1'],
  anthropic: ['anthropic', '/v1'],
  ollama: ['ollama', ''],
} as const

export type Vendor = keyof typeof DIALECTS

/** Model names; the AI SDK adapts requests to Anthropic by the model name. */
export const MODELS: Readonly<Record<Vendor, string>> = {
  chat: 'stub-1',
  responses: 'stub-1',
  anthropic: 'claude-sonnet-4-5',
  ollama: 'stub-1',
}

/** Engine configuration for a vendor's stub server, which has the engine's name. */
export const engineOf = (server: ModelServer, name: string, maker: Vendor, more: object = {}) => {
  const [dialect, base] = DIALECTS[maker]
  return {
    name,
    dialect,
    url: `${server.origin}/${name}${base}`,
    model: MODELS[maker],
    input_price: 100_000,
    output_price: 400_000,
    timeout_seconds: 20,
    ...more,
  }
}

/** Analysis service under its own slug, with its own engines and no free calls. */
export const serviceWithEngines = (slug: string, engines: readonly Engine[]): DataPlugin => ({
  slug,
  migrations: analysis.migrations,
  open(host) {
    const list = engines.map((one) => (one === 'embedded' ? { dialect: 'embedded' } : one))
    const secrets = new Map([
      ['ANALYSIS_ENGINES', JSON.stringify(list)],
      ['MAKER', 'sk-stub-key-1'],
    ])
    const service = analysis.open({ ...host, secret: (name) => secrets.get(name) }) as AnyService
    const { schedules: _, ...sold } = service
    return { ...sold, slug, freeCallsPerMonth: 0 }
  },
})

export interface Cost {
  readonly engine: string
  readonly outcome: string
  readonly requests: number
  readonly cost_microdollars: string
}

/** A caller with credits and access to the recorded costs. */
export interface Customer {
  readonly server: ModelServer
  /** Calls a service; returns the response with the credits it cost. */
  readonly call: (slug: string, path: string, body: object) => Promise<CallResult>
  /** Engine costs of the last call of a service, by engine. */
  readonly costs: (slug: string) => Promise<readonly Cost[]>
  readonly days: (slug: string) => Promise<readonly { readonly cost_microdollars: string }[]>
}

export interface CallResult extends ApiResponse {
  readonly paid: bigint
  /** `result` of the response, untyped. */
  readonly result: never
  readonly warnings: readonly string[]
}

export async function openCustomer(hub: TestHub, server: ModelServer): Promise<Customer> {
  const agent: TestAgent = await hub.agent()
  await hub.credit(agent.keyId, 10_000_000n)
  const table = (slug: string, name: string): string =>
    `plugin_${slug.replaceAll('-', '_')}.${name}`
  let lastCall = ''
  return {
    server,
    async call(slug, path, body) {
      const before = await hub.balance(agent.keyId)
      const response = await ask(hub.url, `/proxy/${slug}${path}`, { key: agent.apiKey, body })
      const paid = before - (await hub.balance(agent.keyId))
      lastCall = String(response.body['id'] ?? response.body['call_id'])
      const warnings = (response.body['warnings'] ?? []) as { readonly code: string }[]
      const codes = warnings.map(({ code }) => code)
      return { ...response, paid, result: response.body['result'] as never, warnings: codes }
    },
    async costs(slug) {
      return query<Cost>(
        hub.database.url,
        `SELECT engine, outcome, requests, cost_microdollars FROM ${table(slug, 'engine_call')}
         WHERE call_id = $1 ORDER BY at, engine`,
        [lastCall],
      )
    },
    days: (slug) =>
      query(hub.database.url, `SELECT * FROM ${table(slug, 'engine_day')} ORDER BY engine`),
  }
}

/** Runs one query on a new connection. */
async function query<Row extends object>(
  connectionString: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<readonly Row[]> {
  const client = new Client({ connectionString })
  await client.connect()
  try {
    return (await client.query<Row>(sql, [...values])).rows
  } finally {
    await client.end()
  }
}

export { openModelServer }
