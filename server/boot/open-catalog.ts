import type { Pool } from 'pg'
import { type Catalog, openCatalog } from '../../core/catalog/services/catalog.ts'
import { isFamily } from '../../core/catalog/services/declaration.ts'
import { type OpenedPlugin, openPlugin } from '../../core/catalog/services/open-plugin.ts'
import type { PluginSet } from '../../core/hosting/plugin-set.ts'
import type { Ledger } from '../../core/ledger/ledger.ts'
import type { AnyService, Family, Host } from '../../core/plugin/index.ts'
import type { SecretKeys } from '../../core/secret-keys/secret-keys.ts'
import { followHostedPlugins, openHostedPlugins } from './hosted-plugins.ts'
import { CREDITS_ONLY, type HubOptions } from './options.ts'

/** Capabilities injected into privileged first-party plugins only. */
type Privileges = Pick<Host, 'buyer' | 'domains' | 'upstreams'>

/** Services and families of all plugins, and the catalog that lists them. */
export interface PluginCatalog {
  /** Services with a schedule of their own are run by the jobs. */
  readonly services: readonly AnyService[]
  readonly families: readonly Family[]
  readonly catalog: Catalog
  /** Calls the listener for each service that is added or changes while the hub runs. */
  readonly onSold: (listener: (service: AnyService) => void) => void
}

interface CatalogDeps {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly secretKeys: SecretKeys
  /** Closes the plugins. */
  readonly scope: AsyncDisposableStack
}

/** Opens all plugins, first-party ones first, and the catalog. */
export async function openPluginCatalog(
  options: HubOptions,
  { pool, ledger, secretKeys, scope }: CatalogDeps,
  host: Host,
  privileges: Privileges,
): Promise<PluginCatalog> {
  const firstParty = await openPlugins(options, host, privileges, scope)
  const set = await openHostedPlugins(options, secretKeys, host, firstParty, pool)
  scope.defer(() => set.close())
  const declared = {
    ...splitDeclarations(firstParty),
    families: splitDeclarations([...firstParty, ...set.hosted]).families,
    startingSlugs: splitDeclarations(set.hosted).services.map(({ slug }) => slug),
    passThrough: CREDITS_ONLY,
    defaultCommissionBps: options.commissionBps,
    now: options.cacheNow,
  }
  const catalog = await openCatalog(pool, ledger, declared)
  const listeners: ((service: AnyService) => void)[] = []
  await followHostedPlugins(set, catalog, pool, (service) => {
    for (const listener of listeners) listener(service)
  })
  const onSold = (listener: (service: AnyService) => void): void => void listeners.push(listener)
  return { ...splitDeclarations([...firstParty, ...set.hosted]), catalog, onSold }
}

const splitDeclarations = (opened: PluginSet['hosted'] | readonly OpenedPlugin[]) => ({
  services: opened.flatMap(({ declaration: each }) => (isFamily(each) ? [] : [each])),
  families: opened.flatMap(({ declaration: each }) => (isFamily(each) ? [each] : [])),
})

async function openPlugins(
  options: HubOptions,
  host: Host,
  privileges: Privileges,
  scope: AsyncDisposableStack,
): Promise<OpenedPlugin[]> {
  const { databaseUrl, databaseDirectUrl, ownerUrl, plugins, privileged, log } = options
  const servingUrl = databaseDirectUrl ?? databaseUrl
  const injection = { host, databaseUrl: ownerUrl, servingUrl, log }
  const opened: OpenedPlugin[] = []
  scope.defer(async () => void (await Promise.all(opened.map((plugin) => plugin.close()))))
  for (const plugin of plugins) opened.push(await openPlugin(plugin, injection))
  const trusted = { ...injection, host: { ...host, ...privileges } }
  for (const plugin of privileged) opened.push(await openPlugin(plugin, trusted, true))
  return opened
}
