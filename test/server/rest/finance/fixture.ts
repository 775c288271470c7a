import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { generatePrivateKey, type LocalAccount, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../../../core/client/index.ts'
import { systemClock } from '../../../../core/clock.ts'
import { readConfig } from '../../../../core/config.ts'
import { loadSigningKeys } from '../../../../core/crypto/signing-key.ts'
import type { EgressOptions } from '../../../../core/egress/egress.ts'
import { createLog } from '../../../../core/log.ts'
import { USDC_BASE } from '../../../../core/payments/chain/asset.ts'
import type { Chain } from '../../../../core/payments/chain/chain.ts'
import type { Facilitator } from '../../../../core/payments/facilitators/facilitator.ts'
import type { Plugin } from '../../../../core/plugin/index.ts'
import { plugins, privileged } from '../../../../plugins/index.ts'
import { openHub } from '../../../../server/boot/hub.ts'
import { type ApiResponse, ask } from '../../../support/ask.ts'
import type { TestHub } from '../../../support/hub.ts'

type HubUrl = Pick<TestHub, 'url'>

/** Creates the administrator of a test hub; put its wallet into `config.admins`. */
export function createAdmin() {
  const account = privateKeyToAccount(generatePrivateKey())
  let key: string | undefined
  return {
    wallet: account.address.toLowerCase(),
    /** Registers on first use. */
    async key({ url }: HubUrl): Promise<string> {
      const wallet = { account, sandbox: true }
      key ??= (await new HubClient({ baseUrl: url, wallet }).register()).apiKey
      return key
    },
    /** Calls a finance route; POST if there is a body. */
    async ask(hub: HubUrl, path: string, body?: unknown): Promise<ApiResponse> {
      return ask(hub.url, `/v1/finance/${path}`, { key: await this.key(hub), body })
    },
  }
}

/** Buys a URL through the proxy. */
export const buyExternal = (hub: HubUrl, key: string, url: string): Promise<ApiResponse> =>
  ask(hub.url, '/proxy/external', { key, body: { url } })

/** Buys the weather from the sample seller; the query may name a fault. */
export const buyWeather = (hub: TestHub, key: string, query = 'city=Oslo'): Promise<ApiResponse> =>
  buyExternal(hub, key, `${hub.sandbox!.sellerUrl}/weather?${query}`)

interface SecondHubOptions {
  readonly sandboxHosts?: ReadonlyMap<string, number>
  readonly egress?: Pick<EgressOptions, 'resolver'>
  readonly admins?: readonly string[]
  readonly metricsToken?: string
  /** Further plugins. */
  readonly plugins?: readonly Plugin[]
  /** Replaces the chain of the first hub. */
  readonly chain?: Chain
  /** Replaces the spend wallet of the first hub. */
  readonly spend?: LocalAccount
  /** Replaces the facilitator of the first hub. */
  readonly facilitator?: Facilitator
}

/** Starts another process of the same installation, with the same database, chain and wallets. */
export async function openSecondHub(
  hub: Pick<TestHub, 'sandbox' | 'databaseUrl' | 'dataDir'>,
  own: SecondHubOptions,
) {
  const { sandboxHosts = new Map(), admins = [], metricsToken } = own
  const money = {
    ...hub.sandbox!.money,
    ...(own.chain && { chain: own.chain }),
    ...(own.spend && { spend: own.spend }),
    ...(own.facilitator && { facilitator: own.facilitator }),
  }
  const listener: { answer?: RequestListener } = {}
  const { server, url } = await serve((request, response) => listener.answer?.(request, response))
  const another = await openHub({
    ...readConfig({}),
    databaseUrl: hub.databaseUrl,
    financeUrl: hub.databaseUrl,
    ownerUrl: hub.databaseUrl,
    admins,
    metricsToken,
    money,
    plugins: [...plugins, ...(own.plugins ?? [])],
    privileged,
    sandbox: true,
    holdMarginSeconds: 60,
    baseUrl: () => url,
    egress: { sandboxHosts: new Map(sandboxHosts), httpsOnly: false, ...own.egress },
    signingKeys: await loadSigningKeys({ signingKeys: [], dataDir: hub.dataDir }),
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

/** Starts a seller that counts requests, charges one cent and never delivers. */
export async function startRecordingSeller() {
  const payTo = privateKeyToAccount(generatePrivateKey()).address
  const seen = { connections: 0, unpaid: 0, signed: 0 }
  let onRequest: () => unknown = () => {}
  const answer = async ({ headers }: IncomingMessage, response: ServerResponse) => {
    if (headers['payment-signature'] === undefined) seen.unpaid++
    else seen.signed++
    await onRequest()
    response.writeHead(402, { 'payment-required': offer(`http://${headers.host}/goods`, payTo) })
    response.end('{}')
  }
  const { server, port } = await serve((request, response) => void answer(request, response))
  server.on('connection', () => seen.connections++)
  return {
    port,
    seen,
    /** Sets a hook that runs on each request, before the response. */
    onRequest(hook: () => unknown): void {
      onRequest = hook
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
