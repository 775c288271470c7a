import { valueAt } from '../entry.ts'
import { isCash } from '../postings.ts'
import { EVIDENCE } from './evidence.ts'
import type { Format } from './format.ts'
import type { AccountBalance } from './plan.ts'
import type { ExportedEntry } from './read-entries.ts'
import { dayOf, debitPositive, decimalsOf, symbolsOf } from './units.ts'

/** Formats an entry, for hledger and ledger-cli alike: debit-positive amounts. */
function transaction({ row, event, postings, evidence }: ExportedEntry): string {
  const value = valueAt(row)
  const bookedAt = value === row.at ? '' : `, booked:${row.at}`
  const { price } = evidence
  const directive = price === undefined ? '' : `\nP ${dayOf(value)} ETH ${price} USDC\n`
  const head = `${dayOf(value)} * (${row.shard}/${row.seq}) ${event}  ; id:${row.id}${bookedAt}`
  let text = `${directive}\n${head}\n`
  for (const [name, fact] of Object.entries(evidence)) text += `    ; ${name}: ${tagValue(fact)}\n`
  for (const { account, amount } of postings) {
    text += `    ${account.code}  ${debitPositive(amount, account.asset)}\n`
  }
  return text
}

/** Value of a tag: both tools read dates in brackets, and hledger ends it at a comma. */
const tagValue = (fact: string): string =>
  fact.replaceAll(',', ';').replaceAll('[', '(').replaceAll(']', ')')

/** Formats the balances at the start of a period, which sum to zero for each asset. */
function openingTransaction(balances: readonly AccountBalance[], instant: string): string {
  const nonZero = balances.filter(({ amount }) => amount !== 0n)
  const lines = nonZero.map(
    ({ code, asset, amount }) => `    ${code}  ${debitPositive(amount, asset)}\n`,
  )
  return lines.length === 0 ? '' : `\n${dayOf(instant)} * opening balances\n${lines.join('')}`
}

/** Formats a zero transaction that asserts balances, with the tool's assertion sign. */
const closingTransaction =
  (sign: '=' | '==') =>
  (balances: readonly AccountBalance[], lastDay: string): string => {
    const lines = balances.map(
      ({ code, asset, amount }) =>
        `    ${code}  ${debitPositive(0n, asset)} ${sign} ${debitPositive(amount, asset)}\n`,
    )
    return `\n${lastDay} * balances as the ledger keeps them\n${lines.join('')}`
  }

/** Journal for hledger; accepted by `hledger check --strict`. */
export const hledger: Format = {
  // hledger requires a decimal mark here, also for assets without decimals.
  start: (plan) =>
    symbolsOf(plan)
      .map((asset) => `commodity 1.${'0'.repeat(decimalsOf(asset))} ${asset}\n`)
      .join(''),
  account: ({ code }) => `\naccount ${code}${isCash(code) ? '  ; type: C' : ''}\n`,
  opening: openingTransaction,
  entry: transaction,
  closing: closingTransaction('=='),
}

/** Journal for ledger-cli; accepted by `ledger --strict --pedantic`. */
export const ledgerCli: Format = {
  start: (plan) =>
    EVIDENCE.map((name) => `tag ${name}\n`).join('') +
    symbolsOf(plan)
      .map((asset) => {
        const decimals = decimalsOf(asset)
        const zeros = decimals === 0 ? '' : `.${'0'.repeat(decimals)}`
        return `commodity ${asset}\n    format 1${zeros} ${asset}\n`
      })
      .join(''),
  account: ({ code }) => `\naccount ${code}\n`,
  opening: openingTransaction,
  entry: transaction,
  closing: closingTransaction('='),
}
