import { parseArgs } from 'node:util'
import type { Pool } from 'pg'
import { Ledger } from '../../core/ledger/ledger.ts'
import { adjustCommand, refundCommand, transferCommand } from './book.ts'
import { exceptionsCommand, resolveCommand } from './chain.ts'
import { type Command, type Context, Misuse, type Values, type Write } from './command.ts'
import { exportCommand } from './export.ts'
import { rebuildCommand } from './rebuild.ts'
import { balancesCommand, closeCommand, statementCommand } from './reports.ts'
import { checkpointsCommand, verifyCommand } from './verify.ts'

const MISUSED = 2
const WIDTH = 24

/** The commands of the books, in the order in which the help tells them. */
const COMMANDS: Readonly<Record<string, Command>> = {
  verify: verifyCommand,
  checkpoints: checkpointsCommand,
  balances: balancesCommand,
  statement: statementCommand,
  export: exportCommand,
  close: closeCommand,
  adjust: adjustCommand,
  refund: refundCommand,
  transfer: transferCommand,
  exceptions: exceptionsCommand,
  resolve: resolveCommand,
  rebuild: rebuildCommand,
}

/**
 * The command line of the books.
 * @param connect gives connections of the role `hub_app`; asked only by commands that need them
 * @param args what follows `npm run ledger --`
 * @returns the exit code: 0, 1 when the books are not sound or the answer is no, 2 for a misuse
 */
export async function ledgerCommand(
  connect: () => Promise<Pool>,
  args: readonly string[],
  write: Write,
  tell: Write = () => {},
): Promise<number> {
  const [name = '', ...rest] = args
  if (['', 'help', '--help', '-h'].includes(name)) {
    await write(name === '' ? `no command given\n\n${help()}` : help())
    return name === '' ? MISUSED : 0
  }
  const context: Context = {
    pool: connect,
    ledger: async () => new Ledger(await connect(), { shards: await shardsOf(await connect()) }),
    write,
    tell,
  }
  try {
    const command = COMMANDS[name]
    if (!command) throw new Misuse(`unknown command: ${name}`)
    const { values, words } = parse(command, rest)
    if (values['help'] === true) {
      await write(`Usage: npm run ledger -- ${describe(name, command)}`)
      return 0
    }
    return await command.run(context, values, words)
  } catch (error) {
    if (!(error instanceof Misuse)) throw error
    const usage = COMMANDS[name]
      ? `Usage: npm run ledger -- ${describe(name, COMMANDS[name])}`
      : help()
    await write(`${error.message}\n\n${usage}`)
    return MISUSED
  }
}

/** @throws Misuse for an option that there is not, or too many words */
function parse(command: Command, args: readonly string[]): { values: Values; words: string[] } {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { ...command.options, help: { type: 'boolean', short: 'h' } },
    })
    const extra = positionals[command.words ?? 0]
    if (extra !== undefined) throw new Misuse(`unknown argument: ${extra}`)
    return { values, words: positionals }
  } catch (error) {
    if (error instanceof Misuse) throw error
    throw new Misuse((error as Error).message)
  }
}

const help = (): string =>
  `Usage: npm run ledger -- COMMAND\n\n${Object.entries(COMMANDS)
    .map(([name, command]) => `  ${describe(name, command).replaceAll('\n', '\n  ').trimEnd()}\n`)
    .join(
      '',
    )}\nCOMMAND --help shows one of them. Instants are UTC: 2026-11, 2026-11-21 or ISO 8601.\n`

const describe = (name: string, { usage, about }: Command): string =>
  `${name} ${usage}\n${about.replaceAll(/^/gm, ' '.repeat(WIDTH))}\n`

async function shardsOf(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ n: number }>('SELECT count(*)::integer AS n FROM ledger.head')
  return rows[0]!.n
}
