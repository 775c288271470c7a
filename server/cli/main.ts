import { type Command, CommanderError } from 'commander'
import { versionOf } from './package.ts'
import { createProgram } from './program.ts'

/** The `hub` command line. It talks to a hub over HTTP only. */
const program = createProgram(versionOf(), (work) => async (...given) => {
  const { createContext: contextOf } = await import('./context.ts')
  const command = given.at(-1) as Command
  const flags = command.optsWithGlobals()
  await work(await contextOf(flags), flags, ...(command.processedArgs as never))
})

/** Exits quietly when the reader, such as `head`, closes the pipe. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})
process.once('SIGINT', () => process.exit(130))

assertNode()
throwInsteadOfExit(program)
try {
  await program.parseAsync()
} catch (error) {
  process.exitCode =
    error instanceof CommanderError ? await exitForUsageError(error) : await reportError(error)
}

/** Returns the exit code for an error of commander. With --json the error is printed here. */
async function exitForUsageError({ exitCode, code, message }: CommanderError): Promise<number> {
  if (exitCode === 0) return 0
  const { EXIT_CODES: EXIT, Failure } = await import('./failure.ts')
  if (!wantsJson()) return EXIT.usage
  const why = code === 'commander.help' ? 'a command is missing' : message.replace(/^error: /, '')
  return reportError(new Failure('usage', why, 'See hub --help.'))
}

/** Reads --json from the raw arguments, because parsing them may be what failed. */
function wantsJson(): boolean {
  const words = process.argv.slice(2)
  const format = words.indexOf('--format')
  const isNamed = format >= 0 && words[format + 1] === 'json'
  return isNamed || words.includes('--json') || words.includes('--format=json')
}

/** Minimum Node version of the dependencies. */
function assertNode(): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 19)) return
  process.stderr.write(`hub needs Node.js 22.19 or newer; this is ${process.versions.node}.\n`)
  process.exit(2)
}

/** Makes commander throw instead of exiting; only main.ts exits the process. */
function throwInsteadOfExit(command: Command): void {
  command.exitOverride()
  if (wantsJson()) command.configureOutput({ writeErr: () => {} })
  command.commands.forEach(throwInsteadOfExit)
}

async function reportError(error: unknown): Promise<number> {
  const { toFailure: failureOf, Failure } = await import('./failure.ts')
  const { Terminal } = await import('./terminal.ts')
  const { shouldColorErrors: errorsInColor } = await import('./config.ts')
  const json = wantsJson()
  const known = failureOf(error)
  if (!known && !json) process.stderr.write(`${(error as Error).stack ?? String(error)}\n`)
  const failure = known ?? new Failure('error', (error as Error).message)
  return new Terminal({ color: errorsInColor(), isAnimated: false }, { json }).fail(failure)
}
