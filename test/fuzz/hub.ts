import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../core/client/index.ts'
import { usd } from '../../core/money.ts'
import { ask } from '../support/ask.ts'
import type { TestHub } from '../support/hub.ts'
import { type Findings, fuzz } from './fuzz.ts'
import type { Document } from './judge.ts'

const KEYS = 12
/** Of each operation. */
const RUNS = 3
const ADMIN = privateKeyToAccount(generatePrivateKey())
/** Callers come from many networks, and one of them is an administrator. */
export const FUZZED = { config: { proxies: 1, admins: [ADMIN.address.toLowerCase()] } } as const
/** What another protocol describes, what asks the chain, and what a reader of pages would open. */
const SKIP = /^POST \/mcp$|\/faucet/

/** The fuzzer against a whole hub, which believes its callers' addresses. */
export async function fuzzHub(hub: TestHub, seed: number, seconds: number): Promise<Findings> {
  const wallet = { account: ADMIN, sandbox: true }
  const admin = await new HubClient({ baseUrl: hub.url, wallet }).register()
  const agents = await Promise.all(Array.from({ length: KEYS }, () => hub.agent()))
  await Promise.all(agents.map(({ keyId }) => hub.credit(keyId, usd('50'))))
  const [{ apiKey }] = agents as [(typeof agents)[0]]
  const called = await ask(hub.url, '/proxy/echo/say', { key: apiKey, body: { words: 'a' } })
  const child = await ask(hub.url, '/v1/keys', { key: apiKey, body: {} })
  const { body } = await ask(hub.url, '/openapi.json')
  return fuzz({
    url: hub.url,
    document: body as unknown as Document,
    keys: [admin.apiKey, admin.apiKey, ...agents.map((agent) => agent.apiKey)],
    known: [
      'echo',
      'analysis',
      'rate_limited',
      String(child.body['key_id']),
      String(called.headers['x-call-id']),
    ],
    skip: SKIP,
    seed,
    runs: RUNS,
    milliseconds: seconds * 1_000,
  })
}
