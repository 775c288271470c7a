import type { Account, NetworkName } from '../ledger/events.ts'
import { walletOf } from '../ledger/postings.ts'
import { type Asset, FURTHER_ASSETS, USDC_BASE } from '../payments/chain/asset.ts'
import type { WalletName } from './types.ts'

const BASE: NetworkName = USDC_BASE.v1Network

interface WalletParts {
  readonly wallet: 'treasury' | 'spend'
  readonly network: NetworkName
}

export function partsOfWallet(name: WalletName): WalletParts {
  if (name === 'treasury' || name === 'spend') return { wallet: name, network: BASE }
  return { wallet: 'treasury', network: name.slice('treasury:'.length) }
}

export const treasuryOn = (network: NetworkName): WalletName =>
  network === BASE ? 'treasury' : `treasury:${network}`

/** Returns the wallets of a hub that takes payments on these networks besides Base. */
export const walletsOn = (
  networks: readonly { readonly asset: Pick<Asset, 'v1Network'> }[],
): readonly WalletName[] => [
  'treasury',
  'spend',
  ...networks.map(({ asset }) => treasuryOn(asset.v1Network)),
]

/** Every wallet that the ledger may have accounts of. */
export const WALLET_NAMES = walletsOn(FURTHER_ASSETS.map((asset) => ({ asset })))

/** Returns the wallet whose USDC is on an account, `assets:usdc:<network>:<wallet>`. */
export function walletOfAccount(code: Account): WalletName {
  const [, , network = BASE, wallet] = code.split(':')
  return wallet === 'spend' ? 'spend' : treasuryOn(network)
}

export function accountOfWallet(name: WalletName): Account {
  const { wallet, network } = partsOfWallet(name)
  return walletOf(wallet, network)
}

/** Returns the pattern (LIKE) of the accounts of a wallet's network. */
export const accountsOfNetwork = (name: WalletName): string =>
  `assets:usdc:${partsOfWallet(name).network}:%`

/** Returns the CAIP-2 name of the network whose payments a wallet receives; undefined: none. */
export function networkReceivedBy(name: WalletName): string | undefined {
  const { wallet, network } = partsOfWallet(name)
  if (wallet === 'spend') return undefined
  const assets = [USDC_BASE, ...FURTHER_ASSETS]
  return assets.find(({ v1Network }) => v1Network === network)?.network
}
