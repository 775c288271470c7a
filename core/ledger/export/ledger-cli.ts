import { ASSETS, decimalsOf, type Format } from './format.ts'
import { closingTransaction, openingTransaction, transaction } from './plain-text.ts'

/** A journal of ledger-cli; `ledger --strict --pedantic` accepts it. */
export const ledgerCli: Format = {
  start: () =>
    ASSETS.map((asset) => {
      const decimals = decimalsOf(asset)
      const zeros = decimals === 0 ? '' : `.${'0'.repeat(decimals)}`
      return `commodity ${asset}\n    format 1${zeros} ${asset}\n`
    }).join(''),
  account: ({ code }) => `\naccount ${code}\n`,
  opening: openingTransaction,
  entry: transaction,
  closing: closingTransaction('='),
}
