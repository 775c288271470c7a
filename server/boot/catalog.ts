import type { Pool } from 'pg'
import { openCatalog } from '../../core/catalog/services/catalog.ts'
import { isFamily } from '../../core/catalog/services/declaration.ts'
import { type OpenedPlugin, openPlugin } from '../../core/catalog/services/plugins.ts'
import type { PluginSet } from '../../core/hosting/plugin-set.ts'
import type { Ledger } from '../../core/ledger/ledger.ts'
import type { AnyService, Host } from '../../core/plugin/index.ts'
import { openHosted, sellHosted } from './hosted-plugins.ts'
import type { Hub, HubOptions } from './hub.ts'
import { CREDITS_ONLY } from './steps.ts'

/** What the house's own plugins are lent, and nobody else. */
type Privileges = Pick<Host, 'buyer' | 'domains' | 'upstreams'>

/** What is for sale: what plugins sell, and the catalogue that lists it. */
interface Goods {
  readonly sold: Pick<Hub, 'services' | 'families' | 'catalog' | 'onSold'>
  close(): Promise<void>
}

/** Opens every plugin, those of the house first. */
export async function openGoods(
  options: HubOptions,
  { pool, ledger }: { readonly pool: Pool; readonly ledger: Ledger },
  host: Host,
  privileges: Privileges,
): Promise<Goods> {
  const house = await openPlugins(options, host, privileges)
  const set = await openHosted(options, host, house, pool)
  const declared = {
    ...soldOf(house),
    families: soldOf([...house, ...set.hosted]).families,
    awaited: soldOf(set.hosted).services.map(({ slug }) => slug),
    passThrough: CREDITS_ONLY,
    defaultCommissionBps: options.commissionBps,
  }
  const catalog = await openCatalog(pool, ledger, declared)
  const listeners: ((service: AnyService) => void)[] = []
  await sellHosted(set, catalog, pool, (service) => {
    for (const listener of listeners) listener(service)
  })
  const onSold = (listener: (service: AnyService) => void): void => void listeners.push(listener)
  return {
    sold: { ...soldOf([...house, ...set.hosted]), catalog, onSold },
    async close() {
      await set.close()
      await Promise.all(house.map((plugin) => plugin.close()))
    },
  }
}

const soldOf = (opened: PluginSet['hosted'] | readonly OpenedPlugin[]) => ({
  services: opened.flatMap(({ sold }) => (isFamily(sold) ? [] : [sold])),
  families: opened.flatMap(({ sold }) => (isFamily(sold) ? [sold] : [])),
})

async function openPlugins(
  options: HubOptions,
  host: Host,
  privileges: Privileges,
): Promise<OpenedPlugin[]> {
  const { databaseUrl, databaseDirectUrl, plugins, privileged, log } = options
  const lending = { host, databaseUrl: databaseDirectUrl ?? databaseUrl, log }
  const opened: OpenedPlugin[] = []
  for (const plugin of plugins) opened.push(await openPlugin(plugin, lending))
  const trusted = { ...lending, host: { ...host, ...privileges } }
  for (const plugin of privileged) opened.push(await openPlugin(plugin, trusted, true))
  return opened
}
