import { readdirSync, readFileSync } from 'node:fs'
import { Challenge, Credential } from 'mppx'
import { request } from 'undici'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../../core/client/index.ts'
import { systemClock } from '../../../core/clock.ts'
import { joinDatabase } from '../../../core/db/open.ts'
import { createPool } from '../../../core/db/pool.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { usd } from '../../../core/money.ts'
import type { ManagedProcess } from '../../../core/runtime/managed-process.ts'
import { offerOf, sign } from '../x402/buyers.ts'
import { type MeasuredServer, measuredServer, SERVE, start } from '../x402/servers.ts'

/** Measured side: its process and the headers of a request. */
export interface Side {
  readonly name: 'hub' | 'fastify' | 'express' | 'mppx'
  readonly server: MeasuredServer
  readonly pid: number
  readonly headers: Readonly<Record<string, string>>
}

export const PATH = '/proxy/bench/say'
export const BODY = JSON.stringify({ words: 'hello', n: 42 })
const READY = /ready at (\S+)/
const PROGRAMS = {
  api: new URL('./api.ts', import.meta.url),
  express: new URL('./express.ts', import.meta.url),
  fastify: new URL('./fastify.ts', import.meta.url),
  mppx: new URL('./mppx.ts', import.meta.url),
} as const

/** Starts a program of this folder. */
export async function open(
  name: keyof typeof PROGRAMS,
  ...args: string[]
): Promise<MeasuredServer & { readonly kept: ManagedProcess }> {
  const { kept, found } = await start([PROGRAMS[name].pathname, ...args], {}, READY)
  return { ...measuredServer(kept, found[1]!), kept }
}

const API_HOST = 'api.test'

/**
 * Starts the whole hub with the listed API and a key with credits and its own rate limit. It
 * requests the API as any host of the internet: guarded and signed.
 */
export async function hubSide(dataDir: string, api: string): Promise<Side> {
  const env = {
    HUB_DATA_DIR: dataDir,
    HUB_PORT: '0',
    HUB_SANDBOX_HOSTS: `${API_HOST}=${new URL(api).host}`,
    HUB_LOG_LEVEL: 'warn',
  }
  const { kept, found } = await start([...FLAGS, ...SERVE], env, READY)
  const server = measuredServer(kept, found[1]!)
  const account = privateKeyToAccount(generatePrivateKey())
  const wallet = { account, sandbox: true }
  const { apiKey, keyId } = await new HubClient({ baseUrl: server.url, wallet }).register()
  await fill(dataDir, keyId)
  const authorization = `Bearer ${apiKey}`
  await list(server.url, authorization, `http://${API_HOST}`)
  return { name: 'hub', server, pid: kept.pid, headers: { authorization } }
}

/** Node flags of the hub process, such as `--cpu-prof`. */
const FLAGS = (process.env['BENCH_NODE_FLAGS'] ?? '').split(' ').filter((flag) => flag !== '')

async function fill(dataDir: string, keyId: string): Promise<void> {
  const { url } = await joinDatabase({ dataDir })
  const pool = createPool(url, { max: 2 })
  const ledger = new Ledger(pool)
  const owner = await ledger.account(creditsOf(keyId))
  const event = { type: 'credits.purchased', credits: owner.code, amount: usd('100000') } as const
  await ledger.post(event, { owner, id: uuidv7(systemClock.now().getTime()) })
  await pool.query('UPDATE hub.api_key SET rate_per_minute = 1000000 WHERE id = $1', [keyId])
  await pool.end()
}

/** Lists the API as a provider would: draft, endpoint, publication. */
async function list(url: string, authorization: string, api: string): Promise<void> {
  const send = async (method: 'POST' | 'PUT', path: string, body: unknown): Promise<void> => {
    const headers = { authorization, 'content-type': 'application/json' }
    const target = new URL(`/v1/provider/services${path}`, url)
    const answer = await request(target, { method, headers, body: JSON.stringify(body) })
    const text = await answer.body.text()
    if (answer.statusCode > 299) throw new Error(`${path}: ${answer.statusCode} ${text}`)
  }
  const about = { name: 'Bench', category: 'test', summary: 'Is measured.', base_url: api }
  await send('POST', '', { slug: 'bench', ...about })
  const summary = 'Says.'
  const endpoint = { method: 'POST', path: '/say', summary, price_microdollars: 1_000 }
  await send('PUT', '/bench/endpoints', { endpoints: [endpoint] })
  await send('POST', '/bench/activate', { waive_tests: true })
}

export async function fastifySide(api: string): Promise<Side> {
  const server = await open('fastify', api)
  return { name: 'fastify', server, pid: server.kept.pid, headers: {} }
}

/** Signs one payment for all requests; the stub facilitator accepts repetition. */
export async function expressSide(api: string, facilitator: string): Promise<Side> {
  const server = await open('express', api, facilitator)
  const terms = await offerOf(server.url, PATH)
  const [payment = ''] = await sign([privateKeyToAccount(generatePrivateKey())], terms, 1)
  return {
    name: 'express',
    server,
    pid: server.kept.pid,
    headers: { 'payment-signature': payment },
  }
}

/** Answers one challenge for all requests. */
export async function mppxSide(api: string): Promise<Side> {
  const server = await open('mppx', api)
  const headers = { 'content-type': 'application/json' }
  const unpaid = await request(new URL(PATH, server.url), { method: 'POST', headers, body: BODY })
  await unpaid.body.dump()
  const offer = unpaid.headers['www-authenticate']
  if (unpaid.statusCode !== 402 || offer === undefined)
    throw new Error(`mppx: ${unpaid.statusCode}`)
  const challenge = Challenge.deserialize([offer].flat().join(', '))
  const authorization = Credential.serialize(
    Credential.from({ challenge, payload: { paid: true } }),
  )
  return { name: 'mppx', server, pid: server.kept.pid, headers: { authorization } }
}

const HZ = 100

/** Returns the CPU seconds of a process and its descendants on Linux; 0 elsewhere. */
export function cpuSeconds(root: number): number {
  const stats = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? statOf(name) : []))
  const below = new Set([root])
  for (let size = 0; size < below.size; ) {
    size = below.size
    for (const { pid, parent } of stats) if (below.has(parent)) below.add(pid)
  }
  return stats.reduce((sum, { pid, ticks }) => sum + (below.has(pid) ? ticks : 0), 0) / HZ
}

function statOf(name: string) {
  try {
    const text = readFileSync(`/proc/${name}/stat`, 'utf8')
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    // Includes exited children, because PostgreSQL starts short-lived workers.
    const ticks = fields[11]! + fields[12]! + fields[13]! + fields[14]!
    return [{ pid: Number(name), parent: fields[1]!, ticks }]
  } catch {
    return [] // it has just ended
  }
}
