import { createWriteStream } from 'node:fs'
import { rename } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import type { Pool } from 'pg'
import { exportCsv } from '../core/ledger/export/csv.ts'
import { exportHledger } from '../core/ledger/export/hledger.ts'
import { formatUnits } from '../core/ledger/export/journal.ts'
import { totals, trialBalance } from '../core/ledger/trial-balance.ts'
import { verifyLedger } from '../core/ledger/verify.ts'

const HELP = `Usage: npm run ledger -- COMMAND

  verify [--json]       prove the books: rebuild every balance from the journal, check the holds,
                        the sequence and the chain of seals; exit code 1 when anything is wrong
  export --format csv|hledger [--out FILE]
                        write the whole journal, in exact decimals
  balances [--json]     the trial balance, credit-positive; exit code 1 when it is not zero
  --help                show this
`
const FAILED = 1
const MISUSED = 2
const EXPORTS = { csv: exportCsv, hledger: exportHledger } as const
const DECIMALS = { USDC: 6, GWEI: 0, FREECALL: 0, ALLOWANCE: 6 } as const

/** Takes text for the standard output; what it returns is awaited before more comes. */
type Write = (text: string) => unknown

/**
 * The command line of the books, see `HELP`.
 * @param args what follows `npm run ledger --`
 * @returns the exit code: 0, 1 when the books are not sound, 2 for a command that does not exist
 */
export async function ledgerCommand(
  pool: Pool,
  args: readonly string[],
  write: Write,
): Promise<number> {
  const given = parse(args)
  if (typeof given === 'string') {
    await write(`${given}\n\n${HELP}`)
    return MISUSED
  }
  const { command, json, format, out } = given
  if (command === 'help') {
    await write(HELP)
    return 0
  }
  if (command === 'verify') return verify(pool, json, write)
  if (command === 'balances') return balances(pool, json, write)
  const chunks = EXPORTS[format](pool)
  if (out === undefined) for await (const chunk of chunks) await write(chunk)
  else await toFile(chunks, out)
  return 0
}

interface Given {
  readonly command: 'verify' | 'export' | 'balances' | 'help'
  readonly json: boolean
  readonly format: keyof typeof EXPORTS
  readonly out?: string | undefined
}

/** What was asked for, or what is wrong with it. */
function parse(args: readonly string[]): Given | string {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        json: { type: 'boolean', default: false },
        format: { type: 'string' },
        out: { type: 'string' },
      },
    })
    const { help, json, format, out } = values
    const [command, extra] = positionals
    if (help) return { command: 'help', json, format: 'csv' }
    if (extra !== undefined) return `unknown argument: ${extra}`
    if (command === 'verify' || command === 'balances') return { command, json, format: 'csv' }
    if (command !== 'export') return command ? `unknown command: ${command}` : 'no command given'
    if (format !== 'csv' && format !== 'hledger') return 'export needs --format csv or hledger'
    return { command, json, format, out }
  } catch (error) {
    return (error as Error).message
  }
}

async function verify(pool: Pool, json: boolean, write: Write): Promise<number> {
  const { ok, checks } = await verifyLedger(pool)
  if (json) await write(`${JSON.stringify({ ok, checks }, integers)}\n`)
  else {
    const lines = checks.map(({ name, bad, example }) =>
      bad === 0n ? `ok   ${name}\n` : `BAD  ${name}: ${bad}, first ${example}\n`,
    )
    await write(`${lines.join('')}${ok ? 'The books are sound.' : 'The books are NOT sound.'}\n`)
  }
  return ok ? 0 : FAILED
}

async function balances(pool: Pool, json: boolean, write: Write): Promise<number> {
  const accounts = await trialBalance(pool)
  const sums = totals(accounts)
  if (json) {
    await write(`${JSON.stringify({ accounts, totals: Object.fromEntries(sums) }, integers)}\n`)
  } else {
    const width = accounts.reduce(
      (most, { account }) => (account.length > most ? account.length : most),
      5,
    )
    const line = (name: string, asset: keyof typeof DECIMALS, amount: bigint): string =>
      `${name.padEnd(width)}  ${formatUnits(amount, DECIMALS[asset]).padStart(20)} ${asset}\n`
    const lines = accounts.map(({ account, asset, balance }) => line(account, asset, balance))
    const sumLines = [...sums].map(([asset, sum]) => line('total', asset, sum))
    await write(`${lines.join('')}\n${sumLines.join('')}`)
  }
  return [...sums.values()].every((sum) => sum === 0n) ? 0 : FAILED
}

/** JSON numbers lose digits above 2^53, so integers of the database go out as text. */
const integers = (_key: string, value: unknown): unknown =>
  typeof value === 'bigint' ? String(value) : value

/** The file appears when it is whole. */
async function toFile(chunks: AsyncIterable<string>, file: string): Promise<void> {
  const part = `${file}.part`
  await pipeline(Readable.from(chunks), createWriteStream(part))
  await rename(part, file)
}
