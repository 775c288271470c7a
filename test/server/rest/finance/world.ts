import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../../../core/client/index.ts'
import { systemClock } from '../../../../core/clock.ts'
import { readConfig } from '../../../../core/config.ts'
import { signingKeyOf } from '../../../../core/crypto/signing-key.ts'
import { createLog } from '../../../../core/log.ts'
import { USDC_BASE } from '../../../../core/payments/chain/asset.ts'
import type { Chain } from '../../../../core/payments/chain/chain.ts'
import { plugins, privileged } from '../../../../plugins/index.ts'
import { openHub } from '../../../../server/boot/hub.ts'
import { ask, type Told } from '../../../support/ask.ts'
import type { TestHub } from '../../../support/hub.ts'

type Reached = Pick<TestHub, 'url'>

/** The administrator of a test hub: its wallet goes into `config.admins`. */
export function makeAdmin() {
  const account = privateKeyToAccount(generatePrivateKey())
  let key: string | undefined
  return {
    wallet: account.address.toLowerCase(),
    /** Registers when it is first asked for. */
    async key({ url }: Reached): Promise<string> {
      const wallet = { account, sandbox: true }
      key ??= (await new HubClient({ baseUrl: url, wallet }).register()).apiKey
      return key
    },
    /** Asks a route of finance; with a body, posts it. */
    async ask(hub: Reached, path: string, body?: unknown): Promise<Told> {
      return ask(hub.url, `/v1/finance/${path}`, { key: await this.key(hub), body })
    },
  }
}

/** Buys what a URL sells. */
export const external = (hub: Reached, key: string, url: string): Promise<Told> =>
  ask(hub.url, '/proxy/external', { key, body: { url } })

/** Buys the weather from the sample seller; the query may name a fault. */
export const weather = (hub: TestHub, key: string, query = 'city=Oslo'): Promise<Told> =>
  external(hub, key, `${hub.sandbox!.sellerUrl}/weather?${query}`)

interface Another {
  readonly sandboxHosts?: ReadonlyMap<string, number>
  readonly admins?: readonly string[]
  readonly metricsToken?: string
  /** Its own view of the chain. */
  readonly chain?: Chain
}

/** Another server of the same installation: its database, its chain, its wallets. */
export async function openAnother(hub: TestHub, own: Another) {
  const { sandboxHosts = new Map(), admins = [], metricsToken } = own
  const money = { ...hub.sandbox!.money, ...(own.chain && { chain: own.chain }) }
  const listener: { answer?: RequestListener } = {}
  const { server, url } = await serve((request, response) => listener.answer?.(request, response))
  const another = await openHub({
    ...readConfig({}),
    databaseUrl: hub.databaseUrl,
    admins,
    metricsToken,
    money,
    plugins,
    privileged,
    sandbox: true,
    holdMarginSeconds: 60,
    baseUrl: () => url,
    egress: { sandboxHosts: new Map(sandboxHosts), httpsOnly: false },
    signingKey: signingKeyOf(generateKeyPairSync('ed25519').privateKey),
    clock: systemClock,
    log: createLog('silent'),
  })
  listener.answer = another.handler
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    server.close()
    await another.close()
  }
  return { url, close }
}

/** A seller that notes what reaches it, offers its goods for a cent, and never delivers any. */
export async function watchfulSeller() {
  const payTo = privateKeyToAccount(generatePrivateKey()).address
  const seen = { connections: 0, unpaid: 0, signed: 0 }
  let whenAsked: () => unknown = () => {}
  const answer = async ({ headers }: IncomingMessage, response: ServerResponse) => {
    if (headers['payment-signature'] === undefined) seen.unpaid++
    else seen.signed++
    await whenAsked()
    response.writeHead(402, { 'payment-required': offer(`http://${headers.host}/goods`, payTo) })
    response.end('{}')
  }
  const { server, port } = await serve((request, response) => void answer(request, response))
  server.on('connection', () => seen.connections++)
  return {
    port,
    seen,
    /** Done at each request, before it is answered. */
    whenAsked(act: () => unknown): void {
      whenAsked = act
    },
    close(): void {
      server.closeAllConnections()
      server.close()
    },
  }
}

function offer(url: string, payTo: string): string {
  const { network, address: asset, name, version } = USDC_BASE
  const terms = { scheme: 'exact', network, amount: '10000', asset, payTo, maxTimeoutSeconds: 60 }
  const resource = { url, description: 'goods', mimeType: 'application/json' }
  const accepts = [{ ...terms, extra: { name, version } }]
  return Buffer.from(JSON.stringify({ x402Version: 2, resource, accepts })).toString('base64')
}

async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { server, port, url: `http://127.0.0.1:${port}` }
}
