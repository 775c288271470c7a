import { parseArgs } from 'node:util'
import type { Pool } from 'pg'
import { Ledger } from '../../core/ledger/ledger.ts'
import { type Command, type Context, Misuse, type Values, type Write } from './ledger/command.ts'

/** Commands that share a name, as in `npm run ledger -- verify`. */
export interface Program {
  readonly name: string
  /** In the order in which the help tells them. */
  readonly commands: Readonly<Record<string, Command>>
  /** The last line of the help. */
  readonly remark: string
}

/** How a program is run. */
export interface Invocation {
  /** Gives connections of the role `hub_app`; asked only by commands that need them. */
  readonly connect: () => Promise<Pool>
  /** What follows its name. */
  readonly args: readonly string[]
  readonly write: Write
  /** @defaultValue silence */
  readonly tell?: Write | undefined
}

const MISUSED = 2
const WIDTH = 24

/**
 * Runs one command.
 * @returns the exit code: that of the command, or 2 for a misuse
 */
export async function runProgram(program: Program, invocation: Invocation): Promise<number> {
  const { connect, args, write, tell = () => {} } = invocation
  const [name = '', ...rest] = args
  if (['', 'help', '--help', '-h'].includes(name)) {
    const help = helpOf(program)
    await write(name === '' ? `no command given\n\n${help}` : help)
    return name === '' ? MISUSED : 0
  }
  const command = Object.hasOwn(program.commands, name) ? program.commands[name] : undefined
  const usage = command
    ? `Usage: npm run ${program.name} -- ${describe(name, command)}`
    : helpOf(program)
  try {
    if (!command) throw new Misuse(`unknown command: ${name}`)
    const { values, words } = parse(command, rest)
    if (values['help'] === true) {
      await write(usage)
      return 0
    }
    return await command.run(contextOf(connect, write, tell), values, words)
  } catch (error) {
    if (!(error instanceof Misuse)) throw error
    await write(`${error.message}\n\n${usage}`)
    return MISUSED
  }
}

const contextOf = (pool: () => Promise<Pool>, write: Write, tell: Write): Context => ({
  pool,
  ledger: async () => new Ledger(await pool(), { shards: await shardsOf(await pool()) }),
  write,
  tell,
})

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

const helpOf = ({ name: program, commands, remark }: Program): string =>
  `Usage: npm run ${program} -- COMMAND\n\n${Object.entries(commands)
    .map(([name, command]) => `  ${describe(name, command).replaceAll('\n', '\n  ').trimEnd()}\n`)
    .join('')}\nCOMMAND --help shows one of them. ${remark}\n`

const describe = (name: string, { usage, about }: Command): string =>
  `${name} ${usage}\n${about.replaceAll(/^/gm, ' '.repeat(WIDTH))}\n`

async function shardsOf(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ n: number }>('SELECT count(*)::integer AS n FROM ledger.head')
  return rows[0]!.n
}
