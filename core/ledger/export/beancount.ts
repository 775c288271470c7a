import { valueAt } from '../entry.ts'
import type { Format } from './format.ts'
import { dayOf, debitPositive, decimalsOf, formatUnits, nextDay } from './units.ts'

/** Accounts are open from the epoch because value dates may precede their first use. */
const OPEN_DATE = '1970-01-01'

/** File for beancount; accepted by `bean-check`. The tolerance is zero: amounts are exact. */
export const beancount: Format = {
  start: () =>
    'option "title" "AgentHub ledger"\noption "inferred_tolerance_default" "*:0"\n' +
    'option "inferred_tolerance_multiplier" "0"\n',
  account: ({ code, asset }) =>
    `\n${OPEN_DATE} open ${beancountAccount(code)} ${asset}\n  code: ${quote(code)}\n`,
  opening: (balances, instant) => {
    const nonZero = balances.filter(({ amount }) => amount !== 0n)
    const lines = nonZero.map(
      ({ code, asset, amount }) => `  ${beancountAccount(code)}  ${debitPositive(amount, asset)}\n`,
    )
    return lines.length === 0 ? '' : `\n${dayOf(instant)} * "opening balances"\n${lines.join('')}`
  },
  entry: ({ row, event, postings, evidence }) => {
    const value = valueAt(row)
    const booked = value === row.at ? '' : `  booked: ${quote(row.at)}\n`
    const { price } = evidence
    const directive = price === undefined ? '' : `\n${dayOf(value)} price ETH  ${price} USDC\n`
    const head = `${dayOf(value)} * ${quote(event)}\n  entry: "${row.shard}/${row.seq}"`
    let text = `${directive}\n${head}\n`
    text += `  id: "${row.id}"\n${booked}`
    for (const [name, fact] of Object.entries(evidence)) text += `  ${name}: ${quote(fact)}\n`
    for (const { account, amount } of postings) {
      text += `  ${beancountAccount(account.code)}  ${debitPositive(amount, account.asset)}\n`
    }
    return text
  },
  closing: (balances, lastDay) => {
    const day = nextDay(lastDay) // beancount asserts balances at the start of a day
    const lines = balances.map(({ code, asset, amount }) => {
      const number = formatUnits(-amount, decimalsOf(asset))
      return `${day} balance ${beancountAccount(code)}  ${number} ~ 0 ${asset}\n`
    })
    return `\n${lines.join('')}`
  },
}

const quote = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`

const nameCache = new Map<string, string>()
const CACHED_NAMES_MAX = 100_000

/**
 * Returns the beancount name of an account: each part starts with a capital letter or a digit and
 * contains only letters, digits and hyphens. Reversible: a lowercase first letter is capitalized,
 * `-xHH` encodes a character by its hexadecimal code, and the prefix `X-x00` marks a part whose
 * first character was not capitalized. The export also stores the original code as `code`.
 */
export function beancountAccount(code: string): string {
  const name = nameCache.get(code) ?? code.split(':').map(nameComponent).join(':')
  if (nameCache.size >= CACHED_NAMES_MAX) nameCache.clear()
  nameCache.set(code, name)
  return name
}

function nameComponent(part: string): string {
  const safe = part.replaceAll(/-(?=x[0-9a-f]{2})|[^A-Za-z0-9-]/g, escapeCharacter)
  return /^[a-z0-9]/.test(part) ? safe.charAt(0).toUpperCase() + safe.slice(1) : `X-x00${safe}`
}

const escapeCharacter = (character: string): string =>
  `-x${character.charCodeAt(0).toString(16).padStart(2, '0')}`
