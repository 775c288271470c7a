import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPlugin } from '../../core/catalog/services/plugins.ts'
import { systemClock } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import { startEmbedded } from '../../core/db/embedded.ts'
import { joinDatabase } from '../../core/db/open.ts'
import { createBackends } from '../../core/egress/backends.ts'
import { createEgress } from '../../core/egress/http.ts'
import { createLog } from '../../core/log.ts'
import { type Command, type DataPlugin, type Host, Refusal } from '../../core/plugin/index.ts'
import { type Context, Misuse, type Values, type Write } from './ledger/command.ts'
import { runProgram } from './run-program.ts'

interface Surroundings {
  readonly config: Config
  readonly write: Write
  readonly tell: Write
  /** Aborts when the operator wants the command to end. */
  readonly signal: AbortSignal
}

/**
 * Runs a command that a plugin has for the operator, on the hub's database or on one that is
 * thrown away. The hub need not run.
 * @returns the exit code: that of the command, or 2 for a misuse
 */
export function pluginCommand(
  plugin: DataPlugin,
  args: readonly string[],
  surroundings: Surroundings,
): Promise<number> {
  const { write, tell } = surroundings
  const declared =
    plugin.open({ ...hostOf(surroundings, absent, absent), database: DATABASE }).commands ?? {}
  const commands = Object.entries(declared).map(([name, command]) => [
    name,
    {
      usage: command.usage,
      about: command.about,
      options: command.options ?? {},
      words: command.words ?? 0,
      run: (_: Context, values: Values, words: readonly string[]) =>
        run(plugin, name, { command, values, words }, surroundings),
    },
  ])
  const program = { name: plugin.slug, commands: Object.fromEntries(commands), remark: '' }
  return runProgram(program, { connect: absent, args, write, tell })
}

interface Asked {
  readonly command: Command
  readonly values: Values
  readonly words: readonly string[]
}

async function run(
  plugin: DataPlugin,
  name: string,
  { command, values, words }: Asked,
  surroundings: Surroundings,
): Promise<number> {
  const { config, write, tell, signal } = surroundings
  const isTrial = command.isTrial?.(values) ?? false
  const database = await (isTrial ? trialDatabase() : joinDatabase(placeOf(config)))
  const userAgent = `AgentHub/${config.version}`
  const egress = createEgress({
    userAgent,
    sandboxHosts: config.sandboxHosts,
    allowedPorts: config.egressPorts,
    httpsOnly: config.production !== undefined,
  })
  const backends = createBackends({ origins: config.pluginHosts, userAgent })
  try {
    const lent = hostOf(
      surroundings,
      (request) => egress.request(request),
      (request) => backends.request(request),
    )
    const lending = { host: lent, databaseUrl: database.url, log: createLog('silent') }
    const opened = await openPlugin(plugin, lending)
    try {
      const open = opened.sold.commands?.[name]
      return (await open?.run({ values, words, write, tell, signal })) ?? 1
    } finally {
      await opened.close()
    }
  } catch (error) {
    if (error instanceof Refusal) throw new Misuse(error.message)
    throw error
  } finally {
    await Promise.all([egress.close(), backends.close()])
    await database.close()
  }
}

/** What is not lent. */
export const absent = (): never => {
  throw new Error('a plugin asked for what it is lent before it was asked itself')
}
const DATABASE = { query: absent, transaction: absent, reading: absent }

/** What a plugin is lent where no hub runs. */
export const hostOf = (
  { config, tell }: Pick<Surroundings, 'config' | 'tell'>,
  request: Host['http']['request'],
  askBackend: Host['backends']['request'],
): Host => ({
  secret: config.secret,
  log: (message, fields) => void tell(`${message}${fields ? ` ${JSON.stringify(fields)}` : ''}\n`),
  http: { request },
  backends: { request: askBackend },
  browser: { render: absent },
  clock: systemClock,
  sandbox: config.production === undefined,
})

const placeOf = ({ databaseDirectUrl, databaseUrl, dataDir }: Config) => {
  const url = databaseDirectUrl ?? databaseUrl
  return url === undefined ? { dataDir } : { url }
}

async function trialDatabase(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-trial-'))
  await chmod(dataDir, 0o711) // root runs the server as another user
  const server = await startEmbedded({ dataDir, durable: false })
  return {
    url: server.url,
    async close() {
      await server.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
