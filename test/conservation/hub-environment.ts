import type { Pool } from 'pg'
import type { LocalAccount } from 'viem'
import type { Hex } from '../../core/payments/chain/asset.ts'
import type { GasWallet } from '../../core/payments/facilitators/gas-wallet.ts'
import type { ResolveDeps } from '../../core/payments/operations/resolve.ts'
import { flawed, gift } from '../stories/failing-services.ts'
import { startTestHub, type TestHub } from '../support/hub.ts'
import { misbehavingFacilitator } from './facilitator-behaviors.ts'
import type { Fault } from './faults.ts'

/** Hub under test, in this or a child process, with its chain and database. */
export interface HubEnvironment {
  /** Current base URL of the hub. */
  readonly url: () => string
  readonly rpcUrl: string
  readonly pool: Pool
  /** Connections as the database's owner. */
  readonly admin: Pool
  /** Dependencies for resolving payments in parallel with the hub. */
  readonly deps: ResolveDeps
  readonly wallets: { readonly treasury: Hex; readonly spend: Hex }
  readonly spend: LocalAccount
  readonly gas: GasWallet
  readonly hubFaults: readonly Fault[]
  /** Unexpected exits and internal errors of the hub. */
  readonly errors: () => readonly string[]
  readonly stop: () => Promise<void>
}

export interface ExternalEndpoints {
  /** Ports of the sellers by host name. */
  readonly hosts: ReadonlyMap<string, number>
  /** Base URL of the foreign facilitator. */
  readonly facilitatorUrl: string
}

/** Returns the lines of a JSON log that report internal errors. */
export const internalErrors = (log: string): string[] =>
  log.split('\n').filter((line) => line.includes('"msg":"internal_error"'))

/** Starts a hub in this process with a misbehaving facilitator. */
export async function startInProcess({
  hosts,
  facilitatorUrl,
}: ExternalEndpoints): Promise<HubEnvironment> {
  const config = { sandboxHosts: hosts, proxies: 1, jobs: true }
  const test: TestHub = await startTestHub({ plugins: [flawed, gift], config })
  const { hub, sandbox } = test
  const { money, rpcUrl } = sandbox!
  const foreign = { url: facilitatorUrl, chain: money.chain, log: hub.paymentDeps.log }
  Object.assign(money.facilitator, misbehavingFacilitator({ ...money.facilitator }, foreign))
  return {
    url: () => test.url,
    rpcUrl,
    pool: hub.pool,
    admin: test.database.admin,
    deps: hub.paymentDeps,
    wallets: { treasury: money.treasury, spend: money.spend.address },
    spend: money.spend,
    gas: money.gas!,
    hubFaults: [],
    errors: () => internalErrors(test.logged()),
    stop: () => test.close(),
  }
}
