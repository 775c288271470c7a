import { existsSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import type { Pool } from 'pg'
import { type Config, ConfigError, readConfig, secretValues } from '../core/config.ts'
import { loadSigningKeys } from '../core/crypto/signing-key.ts'
import { createLog, scrub } from '../core/log.ts'
import { assetOf } from '../core/payments/chain/asset.ts'
import { banner } from './boot/banner.ts'
import { describeFailure, exitAfterDrain, exitProcess } from './boot/exit.ts'
import { FINALITY_BLOCKS } from './boot/production-money.ts'
import { type Parts, startHub } from './boot/start.ts'
import { isWorker, runWorker, startWorkers } from './boot/workers.ts'
import type { Command } from './commands/command.ts'
import { withDatabase } from './commands/with-database.ts'
import { watchUnhandledErrors } from './observability/unhandled-errors.ts'
import { registerFirstAgent } from './sandbox/agent.ts'
import { SANDBOX_FINALITY } from './sandbox/start.ts'

/**
 * Composition root: the only file that imports core, plugins, jobs and the server together. What a
 * start does not need is imported when it is used, so that a killed hub serves again sooner.
 */
const loadPlugins = () => import('../plugins/index.ts')
const loadParts = async (): Promise<Parts> => ({
  ...(await loadPlugins()),
  startJobs: async (...deps) => (await import('../jobs/index.ts')).startJobs(...deps),
})
const USAGE = `usage: node server/main.ts COMMAND

  serve    run the hub (default) [--reset-chain: in a sandbox, replace the chain with a new one]
  jobs     run only the jobs, for servers with HUB_JOBS=off
  migrate  apply | plan | status: prepare the database with the login of its owner
  backup   back up the database and the keys, encrypted: see \`backup --help\`
  restore  restore a backup, and verify it: see \`restore --help\`
  demo     run a scripted tour in a sandbox of its own [--json]
  ledger   verify | balances | export …: for finance, see \`ledger --help\`
  payments status | list | pause | resume: for operators, see \`payments --help\`
  keys     list | rotate | retire | reseal | rewrap: for operators, see \`keys --help\`
  calls    list | detach | export …: records of calls by month, see \`calls --help\`
  cluster  status | check | move …: the nodes of a ledger on Citus, see \`cluster --help\`
  listings status | discover | probe: for operators, see \`listings --help\`
  plugins  list | add | reload | remove | test: for operators, see \`plugins --help\`
  SLUG     the commands of a plugin, such as tenders: see \`tenders --help\``

const RESET_CHAIN = '--reset-chain'

const COMMANDS: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  serve,
  jobs,
  demo: async (args) =>
    (await import('./commands/demo/index.ts')).demo(loadParts, args, (text) => void write(text)),
  migrate,
  backup,
  restore,
  ledger,
  calls,
  cluster,
  listings,
  payments,
  keys,
  plugins: runPlugins,
}

/** Resolves when the text is written, so that a long export waits for a slow pipe. */
const write = (text: string): Promise<void> =>
  new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })

/** Exits quietly when the reader, such as `head`, closes the pipe. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})

/** A closed log must not end the process with the calls in flight. */
process.stderr.on('error', () => {})

const writeError = (text: string): void => {
  process.stderr.write(text)
}

const firstStart = (dataDir: string): string =>
  `Creating a sandbox in ${dataDir}: database, chain and wallets. Later starts are faster.\n`

async function serve(args: readonly string[]): Promise<number> {
  const unknown = args.find((arg) => arg !== RESET_CHAIN)
  if (unknown !== undefined) throw new ConfigError(`Unknown argument ${unknown}.\n${USAGE}`)
  const config = readConfig()
  const resetsChain = args.includes(RESET_CHAIN)
  const log = createProcessLog(
    config,
    config.production ? config.logLevel : quieterLevel(config.logLevel),
  )
  const options = { config, loadParts, log, print: writeError, resetsChain }
  const errors = watchUnhandledErrors(log, config.drain)
  const signaled = untilSignal()
  if (isWorker()) process.exit(await runWorker(options, signaled, errors))
  for (const sentence of config.ignoredVariables) log.warn(sentence)
  if (!config.production && !existsSync(config.dataDir)) writeError(firstStart(config.dataDir))
  const running = await (config.workers > 1 ? startWorkers : startHub)(options)
  const { sandbox, url, notice } = running
  const { dataDir, mcpUrl = url } = config
  flushCompileCache() // a killed process stores nothing
  if (sandbox) {
    const apiKey = await registerFirstAgent(dataDir, url, sandbox.wallets.agent)
    const { sellerUrl, rpcUrl, pageUrl } = sandbox
    await write(
      `${banner({ url, mcpUrl, dataDir, sandbox: { apiKey, sellerUrl, rpcUrl, pageUrl } })}\n`,
    )
  } else await write(`${banner({ url, mcpUrl, dataDir })}\n`)
  if (notice !== undefined) await write(`${notice}\n`)
  await Promise.race([signaled, errors.occurred])
  exitAfterDrain(log, config.drain)
  await write('\nStopping after the requests in flight have finished.\n')
  await running.stop()
  return errors.exitCode
}

async function jobs(args: readonly string[]): Promise<number> {
  if (args.length > 0) throw new ConfigError(`Unknown argument ${args[0]}.\n${USAGE}`)
  const config = readConfig()
  if (!config.production) throw new ConfigError('In the sandbox, jobs run inside the server.')
  const log = createProcessLog(config, config.logLevel)
  const errors = watchUnhandledErrors(log, config.drain)
  for (const sentence of config.ignoredVariables) log.warn(sentence)
  const running = await startHub({
    config: { ...config, jobs: true },
    loadParts,
    log,
    servers: { open: () => {}, listen: async () => config.port },
  })
  await Promise.race([untilSignal(), errors.occurred])
  exitAfterDrain(log, config.drain)
  await running.stop()
  return errors.exitCode
}

async function migrate(args: readonly string[]): Promise<number> {
  const { migrateCommand } = await import('./commands/migrate/index.ts')
  const { plugins, privileged } = await loadPlugins()
  const all = [...plugins, ...privileged]
  return migrateCommand({ config: readConfig(), plugins: all, write }, args)
}

async function backup(args: readonly string[]): Promise<number> {
  const { backupCommand } = await import('./commands/backup/create.ts')
  return runAlone('backup', backupCommand(readConfig()), args)
}

async function restore(args: readonly string[]): Promise<number> {
  const { restoreCommand } = await import('./commands/backup/restore.ts')
  return runAlone('restore', restoreCommand(readConfig()), args)
}

/** Runs a command that opens no database of the hub. */
async function runAlone(name: string, command: Command, args: readonly string[]): Promise<number> {
  const { runCommand } = await import('./commands/run-program.ts')
  const connect = () => Promise.reject(new Error(`${name} opens its own connections`))
  return runCommand(name, command, { connect, args, write, tell: writeError })
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Resolves at the first Ctrl-C or SIGTERM; a second one kills the process. */
const untilSignal = (): Promise<void> =>
  new Promise((resolve) => {
    const stop = (): void => {
      for (const signal of SIGNALS) process.off(signal, stop)
      resolve()
    }
    for (const signal of SIGNALS) process.on(signal, stop)
  })

const createProcessLog = ({ secrets }: Config, level: Config['logLevel']) =>
  createLog(level, process.stderr, secrets)

/** Raises info to warn, so that the banner is not lost among start-up lines. */
const quieterLevel = (level: Config['logLevel']) => (level === 'info' ? 'warn' : level)

async function ledger(args: readonly string[]): Promise<number> {
  const { ledgerCommand } = await import('./commands/ledger/index.ts')
  const { dataDir } = readConfig()
  const run = (connect: () => Promise<Pool>) =>
    ledgerCommand(connect, args, write, writeError, dataDir)
  return withDatabase(run, 'hub_finance')
}

async function calls(args: readonly string[]): Promise<number> {
  const { callsCommand } = await import('./commands/calls/index.ts')
  return withDatabase((connect) => callsCommand(connect, args, write), 'owner')
}

async function cluster(args: readonly string[]): Promise<number> {
  const { clusterCommand } = await import('./commands/cluster/index.ts')
  return withDatabase((connect) => clusterCommand(connect, args, write), 'owner')
}

async function listings(args: readonly string[]): Promise<number> {
  const { listingsCommand } = await import('./commands/listings/index.ts')
  return withDatabase((connect) => listingsCommand(connect, args, write, writeError))
}

async function payments(args: readonly string[]): Promise<number> {
  const [{ paymentsCommand }, { readWalletAddresses }] = await Promise.all([
    import('./commands/payments/index.ts'),
    import('./boot/wallet-addresses.ts'),
  ])
  const config = readConfig()
  const { production } = config
  const settings = {
    addresses: () => readWalletAddresses(config),
    finality: production ? FINALITY_BLOCKS : SANDBOX_FINALITY,
    networks: (production?.networks ?? []).map(({ network, confirmations }) => ({
      asset: assetOf(network),
      finality: BigInt(confirmations),
    })),
  }
  return withDatabase((connect) => paymentsCommand(settings, connect, args, write, writeError))
}

async function keys(args: readonly string[]): Promise<number> {
  const { keysCommand } = await import('./commands/keys/index.ts')
  const config = readConfig()
  const signingKeys = () => loadSigningKeys(config)
  const deps = { signingKeys, sealingKeys: config.listing.sealingKeys }
  return withDatabase((connect) => keysCommand(deps, connect, args, write, writeError))
}

async function runPlugins(args: readonly string[]): Promise<number> {
  const { createCommandHost, unavailable } = await import('./commands/plugin-command.ts')
  const { pluginsCommand } = await import('./commands/plugins/index.ts')
  const config = readConfig()
  const host = createCommandHost({ config, tell: writeError }, unavailable, unavailable)
  const run = (connect: () => Promise<Pool>) =>
    pluginsCommand({ config, loadParts, host, connect, write, tell: writeError }, args)
  return withDatabase(run, 'owner')
}

/** Finds the operator commands of a plugin with a database. */
async function findPluginCommand(
  slug: string,
): Promise<((args: readonly string[]) => Promise<number>) | undefined> {
  const { plugins } = await loadPlugins()
  const plugin = plugins.find((each) => 'open' in each && each.slug === slug)
  if (!plugin || !('open' in plugin)) return undefined
  return async (args) => {
    const { pluginCommand } = await import('./commands/plugin-command.ts')
    const stop = new AbortController()
    void untilSignal().then(() => stop.abort())
    return pluginCommand(plugin, args, {
      config: readConfig(),
      write,
      tell: writeError,
      signal: stop.signal,
    })
  }
}

/** A command has nothing to drain: it may finish its work. */
const NO_DRAIN = { delaySeconds: 0, graceSeconds: 0 } as const

const HELP: ReadonlySet<string | undefined> = new Set(['help', '--help', '-h'])

const [name = 'serve', ...args] = process.argv.slice(2)
if (HELP.has(name) || (['serve', 'jobs'].includes(name) && HELP.has(args[0]))) {
  await write(`${USAGE}\n`)
  process.exit(0)
}
const command = COMMANDS[name] ?? (await findPluginCommand(name))
if (!command) {
  process.stderr.write(`${USAGE}\n`)
  process.exit(2)
}
try {
  const isServer = command === serve || command === jobs // these drain, and watch for themselves
  const log = createLog('error', process.stderr, secretValues())
  const errors = isServer ? undefined : watchUnhandledErrors(log, NO_DRAIN)
  await exitProcess((await command(args)) || (errors?.exitCode ?? 0))
} catch (error) {
  // The primary process reports the same error of the configuration.
  if (!isWorker()) process.stderr.write(`${scrub(describeFailure(error), secretValues())}\n`)
  await exitProcess(1)
}
