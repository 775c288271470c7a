import { type Command, CommanderError } from 'commander'
import { versionOf } from './package.ts'
import { programOf } from './program.ts'

/** The command line: `hub`. It talks to a hub over HTTP, and to nothing else. */
const program = programOf(versionOf(), (work) => async (...given) => {
  const { contextOf } = await import('./context.ts')
  const command = given.at(-1) as Command
  const flags = command.optsWithGlobals()
  await work(await contextOf(flags), flags, ...(command.processedArgs as never))
})

/** A reader that has seen enough, such as `head`, is no error. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})
process.once('SIGINT', () => process.exit(130))

assertNode()
throwing(program)
try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = error instanceof CommanderError ? await misused(error) : await tell(error)
}

/**
 * What commander refuses is wrongly used; help and version are no errors. It has told a person
 * why, and a program is told here.
 */
async function misused({ exitCode, code, message }: CommanderError): Promise<number> {
  if (exitCode === 0) return 0
  const { EXIT, Failure } = await import('./failure.ts')
  if (!asksJson()) return EXIT.usage
  const why = code === 'commander.help' ? 'a command is missing' : message.replace(/^error: /, '')
  return tell(new Failure('usage', why, 'See hub --help.'))
}

/** Read from the words themselves: what is asked may be what cannot be understood. */
function asksJson(): boolean {
  const words = process.argv.slice(2)
  const format = words.indexOf('--format')
  const isNamed = format >= 0 && words[format + 1] === 'json'
  return isNamed || words.includes('--json') || words.includes('--format=json')
}

/** What the packages that it needs ask for. */
function assertNode(): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 19)) return
  process.stderr.write(`hub needs Node.js 22.19 or newer; this is ${process.versions.node}.\n`)
  process.exit(2)
}

/** Instead of ending the process: that is done here alone. */
function throwing(command: Command): void {
  command.exitOverride()
  if (asksJson()) command.configureOutput({ writeErr: () => {} })
  command.commands.forEach(throwing)
}

async function tell(error: unknown): Promise<number> {
  const { failureOf, Failure } = await import('./failure.ts')
  const { Terminal } = await import('./terminal.ts')
  const { errorsInColor } = await import('./config.ts')
  const json = asksJson()
  const known = failureOf(error)
  if (!known && !json) process.stderr.write(`${(error as Error).stack ?? String(error)}\n`)
  const failure = known ?? new Failure('error', (error as Error).message)
  return new Terminal({ color: errorsInColor(), animated: false }, { json }).fail(failure)
}
