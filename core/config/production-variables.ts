/** Variables that production requires. */
export const REQUIRED = ['RPC_URL', 'TREASURY_ADDRESS'] as const
const SELECTING = [
  ...REQUIRED,
  'SPEND_WALLET_KEY',
  'SPEND_WALLET_KEY_FILE',
  'SPEND_WALLET_SIGNER',
  'X402_FACILITATOR_URL',
  'GAS_WALLET_KEY',
  'GAS_WALLET_KEY_FILE',
  'GAS_WALLET_SIGNER',
] as const

/** Returns the variables that are set and select production; none in a sandbox. */
export const productionVariables = (
  e: Readonly<Partial<Record<(typeof SELECTING)[number], unknown>>>,
): readonly string[] => SELECTING.filter((name) => e[name] !== undefined)
