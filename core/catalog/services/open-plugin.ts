import { fileURLToPath } from 'node:url'
import type { Pool } from 'pg'
import { assertMigrated, migrate } from '../../db/migrate.ts'
import { createPool } from '../../db/pool.ts'
import { inTransaction, readSnapshot } from '../../db/transaction.ts'
import type { Log } from '../../log.ts'
import { logFailure } from '../../outages.ts'
import type {
  AnyService,
  Database,
  DataPlugin,
  Family,
  Host,
  Plugin,
  Transaction,
} from '../../plugin/index.ts'
import { isFamily, validateFamily, validateService } from './declaration.ts'

export interface PluginDeps {
  readonly host: Host
  /** Direct URL of the database owner; undefined: the migrations are applied already. */
  readonly databaseUrl: string | undefined
  /** Direct URL of the login that takes on the plugin's role. @defaultValue the owner's */
  readonly servingUrl?: string | undefined
  readonly log: Log
}

/** Plugin with its injected capabilities. */
export interface OpenedPlugin {
  readonly declaration: AnyService | Family
  /** Releases the injected capabilities. */
  close(): Promise<void>
}

const POOL_MAX = 8

/** Injects capabilities into a plugin. @throws Error for a failed migration or declaration */
export async function openPlugin(
  plugin: Plugin,
  deps: PluginDeps,
  privileged = false,
): Promise<OpenedPlugin> {
  if ('open' in plugin) return openDataPlugin(plugin, deps)
  const sold = typeof plugin === 'function' ? plugin(deps.host) : plugin
  return { declaration: validated(sold, privileged), close: async () => {} }
}

const validated = (sold: AnyService | Family, privileged = false): AnyService | Family =>
  isFamily(sold) ? validateFamily(sold) : validateService(sold, privileged)

async function openDataPlugin(plugin: DataPlugin, deps: PluginDeps): Promise<OpenedPlugin> {
  const { host, databaseUrl: ownerUrl, servingUrl = ownerUrl!, log } = deps
  const schema = schemaOf(plugin.slug)
  const folder = fileURLToPath(plugin.migrations)
  if (ownerUrl === undefined) await assertMigrated(servingUrl, { folder, schema, role: schema })
  else await migrate(ownerUrl, { folder, schema, log: (text) => log.info(`${schema}: ${text}`) })
  const pool = createPool(servingUrl, {
    role: schema,
    schema,
    max: POOL_MAX,
    applicationName: `agenthub ${plugin.slug}`,
    onError: (err) =>
      logFailure(log, 'warn', { err, component: 'database' }, 'database connection lost'),
  })
  const close = (): Promise<void> => pool.end()
  try {
    const sold = validated(plugin.open({ ...host, database: injectedDatabase(pool) }))
    const name = isFamily(sold) ? sold.family : sold.slug
    if (name === plugin.slug) return { declaration: sold, close }
    throw new Error(`plugin ${plugin.slug}: its service or family is named ${name}`)
  } catch (error) {
    await close()
    throw error
  }
}

/** Applies the migrations of plugins, for processes that may not. */
export async function migratePlugins(plugins: readonly Plugin[], ownerUrl: string): Promise<void> {
  for (const source of migrationSources(plugins)) await migrate(ownerUrl, source)
}

/** Schemas of plugins, and the folders of their migrations. */
export const migrationSources = (plugins: readonly Plugin[]) =>
  plugins.flatMap((plugin) =>
    'migrations' in plugin
      ? [{ folder: fileURLToPath(plugin.migrations), schema: schemaOf(plugin.slug) }]
      : [],
  )

/** @throws Error for an invalid slug, because it becomes the name of a role */
export function schemaOf(slug: string): string {
  if (/^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$/.test(slug)) return `plugin_${slug.replaceAll('-', '_')}`
  throw new Error(`plugin ${slug}: the slug is not 2 to 40 characters of a-z, 0-9, inner hyphens`)
}

const injectedDatabase = (pool: Pool): Database => ({
  ...statements(pool),
  transaction: (work) => inTransaction(pool, (client) => work(statements(client))),
  reading: (work) => readSnapshot(pool, (client) => work(statements(client))),
})

const statements = (on: Pick<Pool, 'query'>): Transaction => ({
  query: <Row extends object>(text: string, values: readonly unknown[] = []) =>
    on.query<Row>(text, [...values]),
})
