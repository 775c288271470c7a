import { privateKeyToAccount } from 'viem/accounts'
import type { ProductionChain } from '../core/config.ts'
import { createPool } from '../core/db/pool.ts'
import { USDC_BASE } from '../core/payments/asset.ts'
import { openChain } from '../core/payments/chain.ts'
import { assertSupports } from '../core/payments/facilitator.ts'
import { httpFacilitator } from '../core/payments/facilitators/http.ts'
import { localFacilitator } from '../core/payments/facilitators/local.ts'
import type { Money } from './hub.ts'

const FINALITY_BLOCKS = 10n

/** The chain, facilitator and wallets that the configuration names. */
export async function openRealMoney(
  { rpcUrl, treasury, spendKey, facilitator: by }: ProductionChain,
  databaseUrl: string,
): Promise<{ readonly money: Money; stop(): Promise<void> }> {
  const { network } = USDC_BASE
  const pool = createPool(databaseUrl, { max: 4, role: 'hub_app' }) // used after the migration
  const facilitator =
    'url' in by
      ? httpFacilitator({ url: by.url })
      : localFacilitator({ rpcUrl, key: by.gasKey, network, pool })
  await assertSupports(facilitator, network)
  const others = 'gasKey' in by ? [privateKeyToAccount(by.gasKey).address] : []
  const money = {
    chain: openChain({ rpcUrl, network }),
    facilitator,
    treasury,
    spend: privateKeyToAccount(spendKey),
    others,
    finality: FINALITY_BLOCKS,
  }
  return { money, stop: () => pool.end() }
}
