import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { assetOf } from '../../../core/payments/chain/asset.ts'

/** Address of the first account of Anvil and Hardhat, whose key is published. */
export const PUBLISHED_ADDRESS = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

/** A network with everything that real money needs. */
export const POLYGON = {
  network: 'eip155:137',
  rpc: 'https://polygon.acme.com/key-of-the-node',
  genesis: `0x${'5'.repeat(64)}`,
  facilitator: 'https://facilitator.acme.com',
  treasury: privateKeyToAddress(generatePrivateKey()),
  confirmations: 15,
}

/** Values of `HUB_X402_NETWORKS` that are not safe with real money. */
export const UNSAFE_NETWORKS = [
  { rpc: 'http://polygon.acme.com' },
  { facilitator: 'http://facilitator.acme.com' },
  { token: 'short-token' },
  { treasury: PUBLISHED_ADDRESS },
  { treasury: assetOf('eip155:137').address },
].map((change) => JSON.stringify([{ ...POLYGON, ...change }]))
