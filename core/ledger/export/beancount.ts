import { valueAt } from '../entry.ts'
import { dayAfter, dayOf, debitPositive, decimalsOf, type Format, formatUnits } from './format.ts'

/** Value dates may lie before the first use of an account: all are open from the beginning. */
const OPENED = '1970-01-01'

/** A file of beancount; `bean-check` accepts it. Its tolerance is nil: amounts are exact. */
export const beancount: Format = {
  start: () =>
    'option "title" "AgentHub ledger"\noption "inferred_tolerance_default" "*:0"\n' +
    'option "inferred_tolerance_multiplier" "0"\n',
  account: ({ code, asset }) =>
    `\n${OPENED} open ${beancountAccount(code)} ${asset}\n  code: ${quoted(code)}\n`,
  opening: (balances, instant) => {
    const open = balances.filter(({ amount }) => amount !== 0n)
    const lines = open.map(
      ({ code, asset, amount }) => `  ${beancountAccount(code)}  ${debitPositive(amount, asset)}\n`,
    )
    return lines.length === 0 ? '' : `\n${dayOf(instant)} * "opening balances"\n${lines.join('')}`
  },
  entry: ({ row, event, postings }) => {
    const value = valueAt(row)
    const booked = value === row.at ? '' : `  booked: ${quoted(row.at)}\n`
    let text = `\n${dayOf(value)} * ${quoted(event)}\n  entry: "${row.shard}/${row.seq}"\n`
    text += `  id: "${row.id}"\n${booked}`
    for (const { account, amount } of postings) {
      text += `  ${beancountAccount(account.code)}  ${debitPositive(amount, account.asset)}\n`
    }
    return text
  },
  closing: (balances, lastDay) => {
    const day = dayAfter(lastDay) // a balance is that of the beginning of its day
    const lines = balances.map(({ code, asset, amount }) => {
      const number = formatUnits(-amount, decimalsOf(asset))
      return `${day} balance ${beancountAccount(code)}  ${number} ~ 0 ${asset}\n`
    })
    return `\n${lines.join('')}`
  },
}

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`

const known = new Map<string, string>()
const KNOWN_MAX = 100_000

/**
 * The name of an account in beancount, where each part begins with a capital or a digit and has
 * letters, digits and hyphens alone. Reversible: a small first letter becomes a capital, `-xHH`
 * stands for the character of that hexadecimal number, and `X-x00` in front says that the first
 * letter is none that became a capital. The code itself stands beside the account, as `code`.
 */
export function beancountAccount(code: string): string {
  const name = known.get(code) ?? code.split(':').map(component).join(':')
  if (known.size >= KNOWN_MAX) known.clear()
  known.set(code, name)
  return name
}

function component(part: string): string {
  const safe = part.replaceAll(/-(?=x[0-9a-f]{2})|[^A-Za-z0-9-]/g, hexadecimal)
  return /^[a-z0-9]/.test(part) ? safe.charAt(0).toUpperCase() + safe.slice(1) : `X-x00${safe}`
}

const hexadecimal = (character: string): string =>
  `-x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
