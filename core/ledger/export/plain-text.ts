import { valueAt } from '../entry.ts'
import { dayOf, debitPositive } from './format.ts'
import type { AccountBalance } from './plan.ts'
import type { ExportedEntry } from './read.ts'

/** What hledger and ledger-cli have in common: dates, codes, and debit-positive postings. */
export function transaction({ row, event, postings }: ExportedEntry): string {
  const value = valueAt(row)
  const booked = value === row.at ? '' : `, booked:${row.at}`
  let text = `\n${dayOf(value)} * (${row.shard}/${row.seq}) ${event}  ; id:${row.id}${booked}\n`
  for (const { account, amount } of postings) {
    text += `    ${account.code}  ${debitPositive(amount, account.asset)}\n`
  }
  return text
}

/** The balances at the beginning of a period, which sum to zero for each asset. */
export function openingTransaction(balances: readonly AccountBalance[], instant: string): string {
  const open = balances.filter(({ amount }) => amount !== 0n)
  const lines = open.map(
    ({ code, asset, amount }) => `    ${code}  ${debitPositive(amount, asset)}\n`,
  )
  return lines.length === 0 ? '' : `\n${dayOf(instant)} * opening balances\n${lines.join('')}`
}

/** A transaction of nothing that asserts balances, by the tool's own assertion sign. */
export const closingTransaction =
  (sign: '=' | '==') =>
  (balances: readonly AccountBalance[], lastDay: string): string => {
    const lines = balances.map(
      ({ code, asset, amount }) =>
        `    ${code}  ${debitPositive(0n, asset)} ${sign} ${debitPositive(amount, asset)}\n`,
    )
    return `\n${lastDay} * balances as the ledger keeps them\n${lines.join('')}`
  }
