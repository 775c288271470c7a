import { type Config, ConfigError } from '../../core/config.ts'
import { type HubDatabase, openLogins } from '../../core/db/logins.ts'
import type { Log } from '../../core/log.ts'
import type { ChainIdentity } from '../../core/payments/chain/identity.ts'
import { type NodeTransport, trustedNode } from '../../core/payments/chain/node.ts'
import { joinSandbox, type Sandbox, type SandboxPlace, startSandbox } from '../sandbox/start.ts'
import type { Money } from './options.ts'
import { openProductionMoney } from './production-money.ts'

export interface EnvironmentOptions {
  readonly config: Config
  readonly log: Log
  /** Sandbox started by another process of this hub, to join. */
  readonly sandboxPlace?: SandboxPlace | undefined
  /** True to replace the chain of a sandbox by a new one. @defaultValue false */
  readonly resetsChain?: boolean
  /** Chain that production money must be on. @defaultValue Base mainnet */
  readonly chainIdentity?: ChainIdentity | undefined
}

/** Database of a hub, and its wallets on a chain. */
export interface Environment {
  readonly database: HubDatabase
  readonly transport: NodeTransport
  readonly money: Money
  readonly sandbox: Sandbox | undefined
  /** True if requests need nothing that `prepareSandbox` does. */
  readonly isPrepared: boolean
  stop(): Promise<void>
}

export async function openEnvironment({
  config,
  log,
  sandboxPlace: place,
  chainIdentity: identity,
  resetsChain = false,
}: EnvironmentOptions): Promise<Environment> {
  const { production, dataDir, databaseUrl: url, networks } = config
  const { databaseDirectUrl: directUrl, databaseOwnerUrl: ownerUrl, cluster } = config
  const logins = url === undefined ? undefined : { url, directUrl, ownerUrl, cluster }
  if (production) {
    if (resetsChain)
      throw new ConfigError('--reset-chain is only for a sandbox: this is real money.')
    const database = await openLogins({ ...logins!, mustSeparate: true }, (text) => log.info(text))
    const { pooled } = database
    const opened = await openProductionMoney(production, database.url, log, { pooled, identity })
    return { database, sandbox: undefined, isPrepared: true, ...opened }
  }
  const sandbox = await (place
    ? joinSandbox(dataDir, place, log)
    : startSandbox({ dataDir, logins, log, networks, resetsChain }))
  const { database, money, rpcUrl, isPrepared } = sandbox
  const stop = () => sandbox.stop()
  return { database, transport: trustedNode(rpcUrl), money, sandbox, isPrepared, stop }
}
