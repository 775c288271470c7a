import { hostname } from 'node:os'
import type { Pool } from 'pg'
import type { Catalog } from '../../core/catalog/services/catalog.ts'
import { isFamily } from '../../core/catalog/services/declaration.ts'
import type { OpenedPlugin } from '../../core/catalog/services/plugins.ts'
import { withdraw } from '../../core/catalog/services/replace.ts'
import { host } from '../../core/hosting/hosting.ts'
import { PluginSet } from '../../core/hosting/plugin-set.ts'
import type { AnyService, Host } from '../../core/plugin/index.ts'
import type { HubOptions } from './hub.ts'

/** Opens the plugins that the operator added to those of the house. */
export async function openHosted(
  { hosting, databaseUrl, databaseDirectUrl, signingKey, log }: HubOptions,
  lent: Host,
  house: readonly OpenedPlugin[],
  pool: Pool,
): Promise<PluginSet> {
  const lending = {
    host: lent,
    databaseUrl: databaseDirectUrl ?? databaseUrl,
    passwordOf: (role: string) => signingKey.secretFor(`database role ${role}`).toString('hex'),
    log,
  }
  const set = new PluginSet({
    pool,
    entries: hosting.entries,
    taken: new Set(house.map(({ sold }) => (isFamily(sold) ? sold.family : sold.slug))),
    open: (entry) => host(entry, lending, hosting),
    process: `${hostname()}:${process.pid}`,
    log,
  })
  await set.open()
  return set
}

/**
 * Sells what was opened, and follows what the operator changes.
 * @param onSold hears of what is sold anew
 */
export const sellHosted = (
  set: PluginSet,
  catalog: Catalog,
  pool: Pool,
  onSold: (service: AnyService) => void,
): Promise<void> =>
  set.follow({
    async put(service) {
      await catalog.put(service)
      onSold(service)
    },
    async drop(slug) {
      await withdraw(pool, slug)
      catalog.drop(slug)
    },
  })
