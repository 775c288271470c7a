import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPlugin } from '../../core/catalog/services/open-plugin.ts'
import { systemClock } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import { startEmbedded } from '../../core/db/embedded.ts'
import { joinLogins } from '../../core/db/logins.ts'
import { joinDatabase } from '../../core/db/open.ts'
import { createBackends } from '../../core/egress/backends.ts'
import { createEgress } from '../../core/egress/egress.ts'
import { createLog } from '../../core/log.ts'
import { type Command, type DataPlugin, type Host, Refusal } from '../../core/plugin/index.ts'
import { type CommandContext, type OptionValues, UsageError, type Write } from './command.ts'
import { runProgram } from './run-program.ts'

interface PluginCommandDeps {
  readonly config: Config
  readonly write: Write
  readonly tell: Write
  /** Aborts when the operator interrupts the command. */
  readonly signal: AbortSignal
}

/** Runs an operator command on the hub's database or a temporary one. @returns the exit code */
export function pluginCommand(
  plugin: DataPlugin,
  args: readonly string[],
  surroundings: PluginCommandDeps,
): Promise<number> {
  const { write, tell } = surroundings
  const declared =
    plugin.open({
      ...createCommandHost(surroundings, unavailable, unavailable),
      database: UNAVAILABLE_DATABASE,
    }).commands ?? {}
  const commands = Object.entries(declared).map(([name, command]) => [
    name,
    {
      usage: command.usage,
      description: command.about,
      options: command.options ?? {},
      words: command.words ?? 0,
      run: (_: CommandContext, values: OptionValues, words: readonly string[]) =>
        runPluginCommand(plugin, name, { command, values, words }, surroundings),
    },
  ])
  const program = { name: plugin.slug, commands: Object.fromEntries(commands), footer: '' }
  return runProgram(program, { connect: unavailable, args, write, tell })
}

interface ParsedCommand {
  readonly command: Command
  readonly values: OptionValues
  readonly words: readonly string[]
}

async function runPluginCommand(
  plugin: DataPlugin,
  name: string,
  { command, values, words }: ParsedCommand,
  surroundings: PluginCommandDeps,
): Promise<number> {
  const { config, write, tell, signal } = surroundings
  const isTrial = command.isTrial?.(values) ?? false
  const database = await (isTrial ? trialDatabase() : joinDatabase(databaseLocation(config)))
  const userAgent = `AgentHub/${config.version}`
  const egress = createEgress({
    userAgent,
    sandboxHosts: config.sandboxHosts,
    allowedPorts: config.egressPorts,
    httpsOnly: config.production !== undefined,
  })
  const backends = createBackends({ origins: config.pluginHosts, userAgent })
  try {
    const injected = createCommandHost(
      surroundings,
      (request) => egress.request(request),
      (request) => backends.request(request),
    )
    const { ownerUrl, directUrl } = isTrial
      ? { ownerUrl: database.url, directUrl: database.url }
      : await joinLogins({ url: database.url, ownerUrl: config.databaseOwnerUrl })
    const injection = {
      host: injected,
      databaseUrl: ownerUrl,
      servingUrl: directUrl,
      log: createLog('silent'),
    }
    const opened = await openPlugin(plugin, injection)
    try {
      const open = opened.declaration.commands?.[name]
      return (await open?.run({ values, words, write, tell, signal })) ?? 1
    } finally {
      await opened.close()
    }
  } catch (error) {
    if (error instanceof Refusal) throw new UsageError(error.message)
    throw error
  } finally {
    await Promise.all([egress.close(), backends.close()])
    await database.close()
  }
}

/** Stands in for capabilities that are not available. */
export const unavailable = (): never => {
  throw new Error('the plugin used an injected capability before it was opened')
}
const UNAVAILABLE_DATABASE = { query: unavailable, transaction: unavailable, reading: unavailable }

/** Creates the Host injected into a plugin outside of a running hub. */
export const createCommandHost = (
  { config, tell }: Pick<PluginCommandDeps, 'config' | 'tell'>,
  request: Host['http']['request'],
  askBackend: Host['backends']['request'],
): Host => ({
  secret: config.secret,
  log: (message, fields) => void tell(`${message}${fields ? ` ${JSON.stringify(fields)}` : ''}\n`),
  http: { request },
  backends: { request: askBackend },
  browser: { render: unavailable },
  clock: systemClock,
  sandbox: config.production === undefined,
})

const databaseLocation = ({ databaseDirectUrl, databaseUrl, dataDir }: Config) => {
  const url = databaseDirectUrl ?? databaseUrl
  return url === undefined ? { dataDir } : { url }
}

async function trialDatabase(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-trial-'))
  await chmod(dataDir, 0o711) // root runs PostgreSQL as another user
  const server = await startEmbedded({ dataDir, durable: false })
  return {
    url: server.url,
    async close() {
      await server.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
