import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../core/client/index.ts'
import { usd } from '../../core/money.ts'
import { createVisitor } from '../server/staff/fixture.ts'
import { ask } from '../support/ask.ts'
import type { TestHub } from '../support/hub.ts'
import { readOpenApi } from '../support/openapi.ts'
import { type Findings, fuzz } from './fuzz.ts'
import type { Document } from './response-checker.ts'

const KEYS = 12
/** Requests per operation. */
const RUNS = 3
const ADMIN = privateKeyToAccount(generatePrivateKey())
/** Hub options: trusts one proxy, so that callers have many networks, and has one administrator. */
export const FUZZ_HUB_OPTIONS = {
  config: { proxies: 1, admins: [ADMIN.address.toLowerCase()] },
} as const
/**
 * Skipped operations: MCP, which has its own protocol, and the faucet, which sends chain
 * transactions.
 */
const SKIP = /^POST \/mcp$|\/faucet/

/** Runs the fuzzer against a whole hub that trusts X-Forwarded-For. */
export async function fuzzHub(hub: TestHub, seed: number, seconds: number): Promise<Findings> {
  const wallet = { account: ADMIN, sandbox: true }
  const admin = await new HubClient({ baseUrl: hub.url, wallet }).register()
  const agents = await Promise.all(Array.from({ length: KEYS }, () => hub.agent()))
  await Promise.all(agents.map(({ keyId }) => hub.credit(keyId, usd('50'))))
  const [{ apiKey }] = agents as [(typeof agents)[0]]
  const called = await ask(hub.url, '/proxy/echo/say', { key: apiKey, body: { words: 'a' } })
  const child = await ask(hub.url, '/v1/keys', { key: apiKey, body: {} })
  const sessions = await Promise.all(
    ['finance', 'auditor', 'none'].map((role) => openSessionOf(hub, admin.apiKey, role)),
  )
  const { body } = await readOpenApi(hub.url)
  return fuzz({
    url: hub.url,
    document: body as unknown as Document,
    keys: [admin.apiKey, admin.apiKey, ...sessions, ...agents.map((agent) => agent.apiKey)],
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

/** Signs somebody in, with a role if there is one. @returns the session cookie */
async function openSessionOf(hub: TestHub, adminKey: string, role: string): Promise<string> {
  const { email, cookie } = await createVisitor(hub, `${role}@fuzz.example`)
  if (role === 'none') return cookie
  const grant = { name: email, role, reason: 'works here' }
  const { status, text } = await ask(hub.url, '/v1/admin/roles', { key: adminKey, body: grant })
  if (status !== 201) throw new Error(text)
  return cookie
}
