import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { privateKeyToAddress } from 'viem/accounts'
import type { Config } from '../../core/config.ts'
import type { Hex } from '../../core/payments/chain/asset.ts'
import { openWallet } from '../../core/payments/wallets/open-wallet.ts'
import type { SignerTls, WalletSource } from '../../core/payments/wallets/wallet-source.ts'
import { openWallets, WALLETS_FILE } from '../sandbox/wallets.ts'

/** Returns the addresses of the platform wallets; none of a sandbox that never started. */
export async function readWalletAddresses({
  production,
  dataDir,
}: Pick<Config, 'production' | 'dataDir'>): Promise<Readonly<Record<string, Hex>>> {
  if (!production) {
    if (!existsSync(join(dataDir, WALLETS_FILE))) return {}
    const { treasury, spend, gas } = await openWallets(dataDir)
    const addressOf = ({ account }: { readonly account: { readonly address: Hex } }) =>
      account.address
    return { treasury: addressOf(treasury), spend: addressOf(spend), gas: addressOf(gas) }
  }
  const { treasury, spendKey, facilitator, signerTls } = production
  return {
    treasury,
    spend: await addressOfSource('SPEND_WALLET', spendKey, signerTls),
    ...('gasKey' in facilitator && {
      gas: await addressOfSource('GAS_WALLET', facilitator.gasKey, signerTls),
    }),
  }
}

/** Address of a wallet, without a request to its signer. @throws ConfigError */
async function addressOfSource(name: string, source: WalletSource, tls: SignerTls): Promise<Hex> {
  if (source.kind === 'environment') return privateKeyToAddress(source.key)
  return source.address ?? (await openWallet(name, source, tls)).address
}
