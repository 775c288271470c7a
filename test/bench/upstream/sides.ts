import { readdirSync, readFileSync } from 'node:fs'
import { Challenge, Credential } from 'mppx'
import { request } from 'undici'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../../core/client/index.ts'
import { systemClock } from '../../../core/clock.ts'
import { joinDatabase } from '../../../core/db/open.ts'
import { createPool } from '../../../core/db/pool.ts'
import { openShards } from '../../../core/identity/shards.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { usd } from '../../../core/money.ts'
import type { ManagedProcess } from '../../../core/runtime/managed-process.ts'
import { offerOf, sign } from '../x402/buyers.ts'
import { SERVE, type Shop, shopOf, start } from '../x402/shops.ts'

/** One that is measured: where it is, and what a request to it brings along. */
export interface Side {
  readonly name: 'hub' | 'fastify' | 'express' | 'mppx'
  readonly shop: Shop
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
): Promise<Shop & { readonly kept: ManagedProcess }> {
  const { kept, found } = await start([PROGRAMS[name].pathname, ...args], {}, READY)
  return { ...shopOf(kept, found[1]!), kept }
}

/** The whole hub, with the API listed in it, and a key with credits and a rate of its own. */
export async function hubSide(dataDir: string, api: string): Promise<Side> {
  const env = { HUB_DATA_DIR: dataDir, HUB_PORT: '0', HUB_PLUGIN_HOSTS: api, HUB_LOG_LEVEL: 'warn' }
  const { kept, found } = await start([...FLAGS, ...SERVE], env, READY)
  const shop = shopOf(kept, found[1]!)
  const account = privateKeyToAccount(generatePrivateKey())
  const wallet = { account, sandbox: true }
  const { apiKey, keyId } = await new HubClient({ baseUrl: shop.url, wallet }).register()
  await fill(dataDir, keyId)
  const authorization = `Bearer ${apiKey}`
  await list(shop.url, authorization, api)
  return { name: 'hub', shop, pid: kept.pid, headers: { authorization } }
}

/** What the process of the hub is started with: `--cpu-prof`, for one. */
const FLAGS = (process.env['BENCH_NODE_FLAGS'] ?? '').split(' ').filter((flag) => flag !== '')

async function fill(dataDir: string, keyId: string): Promise<void> {
  const { url } = await joinDatabase({ dataDir })
  const pool = createPool(url, { max: 2 })
  const ledger = new Ledger(pool, { shards: await openShards(pool, 1) })
  const owner = await ledger.account(creditsOf(keyId))
  const event = { type: 'credits.purchased', credits: owner.code, amount: usd('100000') } as const
  await ledger.post(event, { owner, id: uuidv7(systemClock.now().getTime()) })
  await pool.query('UPDATE hub.api_key SET rate_per_minute = 1000000 WHERE id = $1', [keyId])
  await pool.end()
}

/** Lists the API as its owner would: a draft, an endpoint, and on sale. */
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
  await send('POST', '/bench/activate', {})
}

export async function fastifySide(api: string): Promise<Side> {
  const shop = await open('fastify', api)
  return { name: 'fastify', shop, pid: shop.kept.pid, headers: {} }
}

/** Its payment is signed once: the stub of a facilitator does not mind. */
export async function expressSide(api: string, facilitator: string): Promise<Side> {
  const shop = await open('express', api, facilitator)
  const terms = await offerOf(shop.url, PATH)
  const [payment = ''] = await sign([privateKeyToAccount(generatePrivateKey())], terms, 1)
  return { name: 'express', shop, pid: shop.kept.pid, headers: { 'payment-signature': payment } }
}

/** Its challenge is answered once too. */
export async function mppxSide(api: string): Promise<Side> {
  const shop = await open('mppx', api)
  const headers = { 'content-type': 'application/json' }
  const asked = await request(new URL(PATH, shop.url), { method: 'POST', headers, body: BODY })
  await asked.body.dump()
  const offer = asked.headers['www-authenticate']
  if (asked.statusCode !== 402 || offer === undefined) throw new Error(`mppx: ${asked.statusCode}`)
  const challenge = Challenge.deserialize([offer].flat().join(', '))
  const authorization = Credential.serialize(
    Credential.from({ challenge, payload: { paid: true } }),
  )
  return { name: 'mppx', shop, pid: shop.kept.pid, headers: { authorization } }
}

const HZ = 100

/** CPU seconds of a process and of all below it, as Linux counts them; 0 elsewhere. */
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
    // Of children that have ended too: PostgreSQL starts workers that come and go.
    const ticks = fields[11]! + fields[12]! + fields[13]! + fields[14]!
    return [{ pid: Number(name), parent: fields[1]!, ticks }]
  } catch {
    return [] // it has just ended
  }
}
