import { generateKeyPairSync } from 'node:crypto'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'

/**
 * Settings of a hub with real money, besides its database. Its node does not respond, with which a
 * hub may start.
 */
export const REAL_MONEY = {
  HUB_BASE_URL: 'https://hub.acme.com',
  HUB_SIGNING_KEY: generateKeyPairSync('ed25519')
    .privateKey.export({ format: 'der', type: 'pkcs8' })
    .toString('base64'),
  HUB_BROWSERS: '0',
  HUB_INDEXES: 'none',
  RPC_URL: 'http://127.0.0.1:9',
  TREASURY_ADDRESS: privateKeyToAddress(generatePrivateKey()),
  SPEND_WALLET_KEY: generatePrivateKey(),
  GAS_WALLET_KEY: generatePrivateKey(),
  HUB_ETH_PRICE: '3000',
} as const
