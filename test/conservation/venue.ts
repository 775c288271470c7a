import type { Pool } from 'pg'
import type { LocalAccount } from 'viem'
import type { Hex } from '../../core/payments/chain/asset.ts'
import type { GasWallet } from '../../core/payments/facilitators/gas-wallet.ts'
import type { ResolveDeps } from '../../core/payments/operations/resolve.ts'
import { flawed, gift } from '../stories/flawed.ts'
import { startTestHub, type TestHub } from '../support/hub.ts'
import { troubled } from './acts.ts'
import type { Disaster } from './faults.ts'

/** A hub, wherever it runs, with its chain and its database. */
export interface Venue {
  /** Where it listens now. */
  readonly url: () => string
  readonly rpcUrl: string
  readonly pool: Pool
  /** Of the database's owner. */
  readonly admin: Pool
  /** To resolve payments beside the hub. */
  readonly ports: ResolveDeps
  readonly wallets: { readonly treasury: Hex; readonly spend: Hex }
  readonly spend: LocalAccount
  readonly gas: GasWallet
  readonly disasters: readonly Disaster[]
  /** What went wrong with the hub itself. */
  readonly faults: () => readonly string[]
  readonly stop: () => Promise<void>
}

export interface Outside {
  /** Names of sellers, and their ports. */
  readonly hosts: ReadonlyMap<string, number>
  /** Where the foreign facilitator will listen. */
  readonly serviceUrl: string
}

/** The errors of a log, a line of JSON each, that a hub does not know how to tell. */
export const unexpected = (log: string): string[] =>
  log.split('\n').filter((line) => line.includes('"msg":"internal_error"'))

/** A whole hub in this process, started as ever, but for the troubles of its facilitator. */
export async function inThisProcess({ hosts, serviceUrl }: Outside): Promise<Venue> {
  const config = { sandboxHosts: hosts, proxies: 1 }
  const test: TestHub = await startTestHub({ plugins: [flawed, gift], config })
  const { hub, sandbox } = test
  const { money, rpcUrl } = sandbox!
  const foreign = { url: serviceUrl, chain: money.chain, log: hub.paymentDeps.log }
  Object.assign(money.facilitator, troubled({ ...money.facilitator }, foreign))
  return {
    url: () => test.url,
    rpcUrl,
    pool: hub.pool,
    admin: test.database.admin,
    ports: hub.paymentDeps,
    wallets: { treasury: money.treasury, spend: money.spend.address },
    spend: money.spend,
    gas: money.gas!,
    disasters: [],
    faults: () => unexpected(test.logged()),
    stop: () => test.close(),
  }
}
