import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { privateKeyToAccount } from 'viem/accounts'
import { systemClock } from '../../core/clock.ts'
import { readConfig } from '../../core/config.ts'
import { loadSigningKeys } from '../../core/crypto/signing-key.ts'
import { createPool } from '../../core/db/pool.ts'
import { RetainedCheckpoints } from '../../core/ledger/retained-checkpoints.ts'
import { createLog } from '../../core/log.ts'
import { type Hex, USDC_BASE } from '../../core/payments/chain/asset.ts'
import { openChain } from '../../core/payments/chain/chain.ts'
import { localFacilitator } from '../../core/payments/facilitators/local.ts'
import { startJobs } from '../../jobs/index.ts'
import { plugins, privileged } from '../../plugins/index.ts'
import { openHub } from '../../server/boot/hub.ts'
import { flawed, gift } from '../stories/failing-services.ts'
import { misbehavingFacilitator } from './facilitator-behaviors.ts'

/** Options passed by the parent process as JSON in the first argument. */
export interface HubProcessOptions {
  readonly databaseUrl: string
  readonly dataDir: string
  readonly rpcUrl: string
  readonly treasury: Hex
  readonly spendKey: Hex
  readonly gasKey: Hex
  readonly finality: number
  readonly hosts: readonly (readonly [name: string, port: number])[]
  readonly facilitatorUrl: string
}

/**
 * Program: runs a hub on a chain that outlives it, so that tests can kill it with SIGKILL. Prints
 * its URL on one line when it is ready.
 */
const options = JSON.parse(process.argv[2]!) as HubProcessOptions
const { databaseUrl, rpcUrl, treasury, gasKey: key } = options
const { network } = USDC_BASE
const config = { ...readConfig({}), dataDir: options.dataDir }
const log = createLog('error')
const signingKeys = await loadSigningKeys(config)
const pool = createPool(databaseUrl, { max: 4, role: 'hub_app', onError: () => {} })
const chain = openChain({ rpcUrl, network })
const ownFacilitator = localFacilitator({ rpcUrl, key, network, pool, pollMs: 50 })
const spend = privateKeyToAccount(options.spendKey)
let url = ''
const hub = await openHub({
  ...config,
  plugins: [...plugins, flawed, gift],
  privileged,
  databaseUrl,
  financeUrl: databaseUrl,
  ownerUrl: databaseUrl,
  signingKeys,
  money: {
    chain,
    facilitator: misbehavingFacilitator(
      { ...ownFacilitator },
      { url: options.facilitatorUrl, chain, log },
    ),
    gas: ownFacilitator.gas,
    networks: [],
    treasury,
    spend,
    others: [ownFacilitator.address],
    finality: BigInt(options.finality),
  },
  sandbox: true,
  admins: [],
  proxies: 1,
  holdMarginSeconds: 1,
  baseUrl: () => url,
  egress: { sandboxHosts: new Map(options.hosts), httpsOnly: false },
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
  secretKeys: hub.secretKeys,
  retained: new RetainedCheckpoints(options.dataDir),
  wallets: { treasury, spend: spend.address },
  gas: { wallet: ownFacilitator.gas, ...config.gas },
  retention: config.retention,
})
process.stdout.write(`${url}\n`)
