import { hostname } from 'node:os'
import type { Pool } from 'pg'
import type { Catalog } from '../../core/catalog/services/catalog.ts'
import { isFamily } from '../../core/catalog/services/declaration.ts'
import type { OpenedPlugin } from '../../core/catalog/services/open-plugin.ts'
import { retireService } from '../../core/catalog/services/publish.ts'
import { hostPlugin } from '../../core/hosting/host-plugin.ts'
import { PluginSet } from '../../core/hosting/plugin-set.ts'
import type { AnyService, Host } from '../../core/plugin/index.ts'
import type { PurposeKeys } from '../../core/secret-keys/purpose-keys.ts'
import { pluginPassword } from '../../core/secret-keys/purposes.ts'
import type { SecretKeys } from '../../core/secret-keys/secret-keys.ts'
import type { HubOptions } from './options.ts'

/** Derives the passwords of a role, from the current version of the key first. */
const passwordsFrom =
  (keys: PurposeKeys) =>
  (role: string): readonly [string, ...string[]] => {
    const [first, ...others] = keys.valid.map(({ material }) => pluginPassword(material, role))
    return [first!, ...others]
  }

/** Opens the plugins that the operator added. */
export async function openHostedPlugins(
  { hosting, databaseUrl, databaseDirectUrl, ownerUrl, log }: HubOptions,
  secretKeys: SecretKeys,
  host: Host,
  firstParty: readonly OpenedPlugin[],
  pool: Pool,
): Promise<PluginSet> {
  const injection = {
    host,
    databaseUrl: ownerUrl,
    servingUrl: databaseDirectUrl ?? databaseUrl,
    passwordsOf: passwordsFrom(secretKeys.of('plugin-databases')),
    reloadPasswords: secretKeys.reload,
    log,
  }
  const set = new PluginSet({
    pool,
    entries: hosting.entries,
    reservedSlugs: new Set(
      firstParty.map(({ declaration: sold }) => (isFamily(sold) ? sold.family : sold.slug)),
    ),
    open: (entry) => hostPlugin(entry, injection, hosting),
    process: `${hostname()}:${process.pid}`,
    log,
  })
  await set.open()
  return set
}

/**
 * Publishes the hosted plugins and follows the operator's changes.
 * @param onSold called for each service that is added or changes
 */
export const followHostedPlugins = (
  set: PluginSet,
  catalog: Catalog,
  pool: Pool,
  onSold: (service: AnyService) => void,
): Promise<void> =>
  set.follow({
    async put(service) {
      await catalog.publish(service)
      onSold(service)
    },
    async drop(slug) {
      await retireService(pool, slug)
      catalog.remove(slug)
    },
  })
