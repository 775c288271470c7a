import { ASSETS, decimalsOf, type Format } from './format.ts'
import { closingTransaction, openingTransaction, transaction } from './plain-text.ts'

/** A journal of hledger; `hledger check --strict` accepts it. */
export const hledger: Format = {
  // hledger wants a decimal mark here, also without decimals.
  start: () =>
    ASSETS.map((asset) => `commodity 1.${'0'.repeat(decimalsOf(asset))} ${asset}\n`).join(''),
  account: ({ code }) => `\naccount ${code}\n`,
  opening: openingTransaction,
  entry: transaction,
  closing: closingTransaction('=='),
}
