import { fileURLToPath } from 'node:url'
import type { Pool } from 'pg'
import { migrate } from '../../db/migrate.ts'
import { createPool } from '../../db/pool.ts'
import { inTransaction, readTogether } from '../../db/transaction.ts'
import type { Log } from '../../log.ts'
import type {
  AnyService,
  Database,
  DataPlugin,
  Family,
  Host,
  Plugin,
  Transaction,
} from '../../plugin/index.ts'
import { declare, declareFamily, isFamily } from './declaration.ts'

export interface Lending {
  readonly host: Host
  /** Of the owner, without a pooler between: roles are taken when a connection is made. */
  readonly databaseUrl: string
  readonly log: Log
}

/** A plugin that was lent what it asked for. */
export interface OpenedPlugin {
  readonly sold: AnyService | Family
  /** Gives back what it was lent. */
  close(): Promise<void>
}

const POOL_MAX = 8

/**
 * Lends a plugin what it asks for, and checks what it declares.
 * @throws Error when its migrations fail, or it is not declared well
 */
export async function openPlugin(
  plugin: Plugin,
  lending: Lending,
  privileged = false,
): Promise<OpenedPlugin> {
  if ('open' in plugin) return openDataPlugin(plugin, lending)
  const sold = typeof plugin === 'function' ? plugin(lending.host) : plugin
  return { sold: declared(sold, privileged), close: async () => {} }
}

const declared = (sold: AnyService | Family, privileged = false): AnyService | Family =>
  isFamily(sold) ? declareFamily(sold) : declare(sold, privileged)

async function openDataPlugin(plugin: DataPlugin, lending: Lending): Promise<OpenedPlugin> {
  const { host, databaseUrl, log } = lending
  const schema = schemaOf(plugin.slug)
  const folder = fileURLToPath(plugin.migrations)
  await migrate(databaseUrl, { folder, schema, log: (text) => log.info(`${schema}: ${text}`) })
  const pool = createPool(databaseUrl, {
    role: schema,
    schema,
    max: POOL_MAX,
    applicationName: `agenthub ${plugin.slug}`,
    onError: (error) => log.warn({ err: error }, 'a database connection broke'),
  })
  const close = (): Promise<void> => pool.end()
  try {
    const sold = declared(plugin.open({ ...host, database: databaseOn(pool) }))
    const name = isFamily(sold) ? sold.family : sold.slug
    if (name === plugin.slug) return { sold, close }
    throw new Error(`plugin ${plugin.slug}: what it sells is ${name}`)
  } catch (error) {
    await close()
    throw error
  }
}

/** @throws Error for what is no slug, since it becomes the name of a role */
export function schemaOf(slug: string): string {
  if (/^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$/.test(slug)) return `plugin_${slug.replaceAll('-', '_')}`
  throw new Error(`plugin ${slug}: the slug is not 2 to 40 of a-z, 0-9, inner hyphens`)
}

const databaseOn = (pool: Pool): Database => ({
  ...statementsOn(pool),
  transaction: (work) => inTransaction(pool, (client) => work(statementsOn(client))),
  reading: (work) => readTogether(pool, (client) => work(statementsOn(client))),
})

const statementsOn = (on: Pick<Pool, 'query'>): Transaction => ({
  query: <Row extends object>(text: string, values: readonly unknown[] = []) =>
    on.query<Row>(text, [...values]),
})
