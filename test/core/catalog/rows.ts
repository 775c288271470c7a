/** Rows as indexes have them, to be changed by tests. */

export const USDC = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
export const PAY_TO = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C'

export const offer = (change: object = {}): Record<string, unknown> => ({
  scheme: 'exact',
  network: 'eip155:8453',
  asset: USDC,
  amount: '3000',
  payTo: PAY_TO,
  maxTimeoutSeconds: 60,
  extra: { name: 'USD Coin', version: '2' },
  ...change,
})

export const row = (change: object = {}): Record<string, unknown> => ({
  resource: 'https://api.acme.com/rain',
  type: 'http',
  x402Version: 2,
  lastUpdated: '2026-05-14T14:26:42.878Z',
  description: 'Tells whether it rains.',
  accepts: [offer()],
  ...change,
})
