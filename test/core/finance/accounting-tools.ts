import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'

const run = promisify(execFile)
const BIG = 512 * 1024 * 1024

/** Microdollars by account, or by group of accounts; accounts without a balance are left out. */
export type Amounts = ReadonlyMap<string, bigint>

/** Returns true if a third-party tool is installed; reports if it is not. */
export async function isInstalled(name: string): Promise<boolean> {
  const found = await run(name, ['--version']).catch(() => undefined)
  if (!found) process.stdout.write(`      ${name} is not installed: it is not compared\n`)
  return found !== undefined
}

async function output(name: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await run(name, args, { maxBuffer: BIG })
  expect(stderr, `${name} complains`).to.equal('')
  return stdout
}

const GROUPED = /^(liabilities:(?:agents|providers|free-calls|allowances):|income:services:).+/i

/** Sums USDC amounts by group of accounts, with the names in lower case. */
export function groupAmounts(rows: Iterable<readonly [account: string, amount: bigint]>): Amounts {
  const sums = new Map<string, bigint>()
  for (const [account, amount] of rows) {
    const name = account.replace(GROUPED, '$1').toLowerCase()
    sums.set(name, (sums.get(name) ?? 0n) + amount)
  }
  return new Map([...sums].filter(([, amount]) => amount !== 0n))
}

const AMOUNT = /(-?\d[\d,]*\.\d{6}) USDC/

function microsOf(text: string): bigint | undefined {
  const digits = AMOUNT.exec(text)?.[1]
  return digits === undefined ? undefined : BigInt(digits.replaceAll(/[,.]/g, ''))
}

/** Amounts of a statement of hledger: `is`, `bs` or `cf`. */
export async function hledgerStatement(file: string, ...args: string[]): Promise<Amounts> {
  const csv = await output('hledger', '-f', file, ...args, '--flat', '--no-total', '-O', 'csv')
  const rows = csv.split('\n').flatMap((line) => {
    const [, account = '', text = ''] = /^"([a-z]+:[^"]*)","(.*)"$/.exec(line) ?? []
    const amount = microsOf(text)
    return amount === undefined ? [] : [[account, amount] as const]
  })
  return groupAmounts(rows)
}

/** Balances of ledger-cli, debit-positive. */
export async function ledgerBalances(file: string): Promise<Amounts> {
  const strict = ['--strict', '--pedantic', '-f', file, 'balance', '--flat', '--no-total']
  const text = await output('ledger', ...strict)
  return groupAmounts(
    text.split('\n').flatMap((line) => {
      const [, shown = '', account = ''] = /^\s*(\S+ [A-Z]+) {2}(\S+)$/.exec(line) ?? []
      const amount = microsOf(shown)
      return amount === undefined ? [] : [[account, amount] as const]
    }),
  )
}

/** Balances of beancount, debit-positive, by the `code` of its account directives. */
export async function beancountBalances(file: string): Promise<Amounts> {
  const select = `SELECT getitem(open_meta(account), 'code') AS account, sum(number) AS total
    WHERE currency = 'USDC' GROUP BY account`
  const csv = await output('bean-query', '-f', 'csv', file, select)
  return groupAmounts(
    csv.split(/\r?\n/).flatMap((line) => {
      const [account = '', total] = line.split(',').map((cell) => cell.trim())
      const amount = microsOf(`${total} USDC`)
      return amount === undefined ? [] : [[account, amount] as const]
    }),
  )
}
