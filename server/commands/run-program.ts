import { parseArgs } from 'node:util'
import type { Pool } from 'pg'
import { Ledger } from '../../core/ledger/ledger.ts'
import {
  type Command,
  type CommandContext,
  type OptionValues,
  UsageError,
  type Write,
} from './command.ts'

/** A group of commands, such as `npm run ledger -- verify`. */
export interface Program {
  readonly name: string
  /** By name, in the order of the help. */
  readonly commands: Readonly<Record<string, Command>>
  /** The last line of the help. */
  readonly footer: string
}

export interface Invocation {
  /** Opens connections of the role `hub_app`; called only by commands that need them. */
  readonly connect: () => Promise<Pool>
  readonly args: readonly string[]
  readonly write: Write
  /** Writes progress and advice. @defaultValue discards them */
  readonly tell?: Write | undefined
  readonly dataDir?: string | undefined
}

const EXIT_USAGE = 2
const INDENT = 24

/** Runs one command. @returns the exit code of the command, or 2 for a usage error */
export async function runProgram(program: Program, invocation: Invocation): Promise<number> {
  const { args, write } = invocation
  const [name = '', ...rest] = args
  if (['', 'help', '--help', '-h'].includes(name)) {
    const help = helpOf(program)
    await write(name === '' ? `no command given\n\n${help}` : help)
    return name === '' ? EXIT_USAGE : 0
  }
  const command = Object.hasOwn(program.commands, name) ? program.commands[name] : undefined
  if (command)
    return runCommand(`${program.name} -- ${name}`, command, { ...invocation, args: rest })
  await write(`unknown command: ${name}\n\n${helpOf(program)}`)
  return EXIT_USAGE
}

/**
 * Runs a command that is a program of its own, or one of a program.
 * @param name its name after `npm run`
 */
export async function runCommand(
  name: string,
  command: Command,
  invocation: Invocation,
): Promise<number> {
  const { args, write } = invocation
  const usage = `Usage: npm run ${describeCommand(name, command)}`
  try {
    const { values, words } = parseCommandLine(command, args)
    if (values['help'] === true) {
      await write(usage)
      return 0
    }
    return await command.run(contextOf(invocation), values, words)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    await write(`${error.message}\n\n${usage}`)
    return EXIT_USAGE
  }
}

const contextOf = ({
  connect: pool,
  write,
  tell = () => {},
  dataDir,
}: Invocation): CommandContext => ({
  pool,
  dataDir,
  ledger: async () => new Ledger(await pool()),
  write,
  log: tell,
})

/** @throws UsageError for an unknown option or too many arguments */
function parseCommandLine(
  command: Command,
  args: readonly string[],
): { values: OptionValues; words: string[] } {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { ...command.options, help: { type: 'boolean', short: 'h' } },
    })
    const extra = positionals[command.words ?? 0]
    if (extra !== undefined) throw new UsageError(`unknown argument: ${extra}`)
    return { values, words: positionals }
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError((error as Error).message)
  }
}

const helpOf = ({ name: program, commands, footer: remark }: Program): string =>
  `Usage: npm run ${program} -- COMMAND\n\n${Object.entries(commands)
    .map(
      ([name, command]) =>
        `  ${describeCommand(name, command).replaceAll('\n', '\n  ').trimEnd()}\n`,
    )
    .join('')}\nCOMMAND --help explains one command. ${remark}\n`

const describeCommand = (name: string, { usage, description: about }: Command): string =>
  `${name} ${usage}\n${about.replaceAll(/^/gm, ' '.repeat(INDENT))}\n`
