import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { privateKeyToAccount } from 'viem/accounts'
import { systemClock } from '../../core/clock.ts'
import { readConfig } from '../../core/config.ts'
import { loadSigningKey } from '../../core/crypto/signing-key.ts'
import { createPool } from '../../core/db/pool.ts'
import { createLog } from '../../core/log.ts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import { openChain } from '../../core/payments/chain/chain.ts'
import { localFacilitator } from '../../core/payments/facilitators/local.ts'
import { startJobs } from '../../jobs/index.ts'
import { plugins, privileged } from '../../plugins/index.ts'
import { openHub } from '../../server/boot/hub.ts'
import { flawed, gift } from '../stories/flawed.ts'
import { troubled } from './acts.ts'

/** What the parent tells by the first argument, as JSON. */
export interface HubOrder {
  readonly databaseUrl: string
  readonly dataDir: string
  readonly rpcUrl: string
  readonly treasury: Hex
  readonly spendKey: Hex
  readonly gasKey: Hex
  readonly finality: number
  readonly hosts: readonly (readonly [name: string, port: number])[]
  readonly serviceUrl: string
}

/**
 * A hub in a process of its own, to be killed, on a chain that outlives it. Prints one line when it
 * is ready: its address. Whoever is killed here loses what it had not written down.
 */
const order = JSON.parse(process.argv[2]!) as HubOrder
const { databaseUrl, rpcUrl, treasury, gasKey: key } = order
const { network } = USDC_BASE
const config = { ...readConfig({}), dataDir: order.dataDir }
const log = createLog('error')
const signingKey = await loadSigningKey(config)
const pool = createPool(databaseUrl, { max: 4, role: 'hub_app', onError: () => {} })
const chain = openChain({ rpcUrl, network })
const own = localFacilitator({ rpcUrl, key, network, pool, pollMs: 50 })
const spend = privateKeyToAccount(order.spendKey)
let url = ''
const hub = await openHub({
  ...config,
  plugins: [...plugins, flawed, gift],
  privileged,
  databaseUrl,
  signingKey,
  money: {
    chain,
    facilitator: troubled({ ...own }, { url: order.serviceUrl, chain, log }),
    gas: own.gas,
    treasury,
    spend,
    others: [own.address],
    finality: BigInt(order.finality),
  },
  sandbox: true,
  admins: [],
  proxies: 1,
  holdMarginSeconds: 1,
  baseUrl: () => url,
  egress: { sandboxHosts: new Map(order.hosts), httpsOnly: false },
  clock: systemClock,
  log,
})
const server = createServer(hub.handler).listen(0, '127.0.0.1')
await once(server, 'listening')
url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
await startJobs(databaseUrl, {
  ...hub.paymentDeps,
  pool: hub.pool,
  services: hub.services,
  families: hub.families,
  catalog: hub.catalog,
  signingKey,
  wallets: { treasury, spend: spend.address },
  gas: { wallet: own.gas, ...config.gas },
})
process.stdout.write(`${url}\n`)
