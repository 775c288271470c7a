import { valueAt } from '../entry.ts'
import { dayAfter, dayOf, debitPositive, type Format } from './format.ts'

/** Value dates may lie before the first use of an account, so that all are open from the beginning. */
const OPENED = '1970-01-01'

/** A file of beancount; `bean-check` accepts it. Its tolerance is nil: amounts are exact. */
export const beancount: Format = {
  closes: true,
  start: () =>
    'option "title" "AgentHub ledger"\noption "inferred_tolerance_default" "*:0"\n' +
    'option "inferred_tolerance_multiplier" "0"\n',
  account: ({ code, asset }) =>
    `\n${OPENED} open ${beancountAccount(code)} ${asset}\n  code: ${quoted(code)}\n`,
  opening: (balances, instant) => {
    const open = balances.filter(({ amount }) => amount !== '0')
    const lines = open.map(
      ({ code, asset, amount }) =>
        `  ${beancountAccount(code)}  ${debitPositive(BigInt(amount), asset)}\n`,
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
  end: ({ plan: { closing = [] }, lastDay }) => {
    if (lastDay === '') return ''
    const day = dayAfter(lastDay)
    const lines = closing
      .filter(({ amount }) => amount !== '0') // an account that is not open cannot be asserted
      .map(({ code, asset, amount }) => {
        const [number, unit] = debitPositive(BigInt(amount), asset).split(' ')
        return `${day} balance ${beancountAccount(code)}  ${number} ~ 0 ${unit}\n`
      })
    return `\n${lines.join('')}`
  },
}

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`

const known = new Map<string, string>()
const KNOWN_MAX = 100_000

/**
 * The name of an account in beancount, where each part begins with a capital and has letters, digits
 * and hyphens alone. Reversible: `-xHH` stands for the character of that hexadecimal number, where a
 * first letter was a capital already `X-xHH`. The code itself stands beside the account, as `code`.
 */
export function beancountAccount(code: string): string {
  const name = known.get(code) ?? code.split(':').map(component).join(':')
  if (known.size >= KNOWN_MAX) known.clear()
  known.set(code, name)
  return name
}

function component(part: string): string {
  const safe = part
    .replaceAll(/-(?=x[0-9a-f]{2})/g, '-x2d')
    .replaceAll(/[^A-Za-z0-9-]/g, hexadecimal)
    .replace(/^[A-Z]/, (letter) => `X${hexadecimal(letter)}`)
    .replace(/^-/, () => `X${hexadecimal('-')}`)
  return safe.charAt(0).toUpperCase() + safe.slice(1)
}

const hexadecimal = (character: string): string =>
  `-x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
