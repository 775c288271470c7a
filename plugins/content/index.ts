import type { DataPlugin } from 'agenthub/plugin'
import { PageCache } from './cache.ts'
import { previewPage } from './preview.ts'
import { SalesList } from './sales-list.ts'
import { gatewayOf } from './service.ts'

/** Content gateway: one service per registered domain, created while the hub runs. */
const content: DataPlugin = {
  slug: 'content',
  migrations: new URL('./migrations/', import.meta.url),
  open({ database, domains, ...host }) {
    if (!domains) throw new Error('the domains must be injected into the content plugin')
    const cache = new PageCache(database)
    const salesList = new SalesList({ database, host, domains })
    const deps = { host, domains, cache, salesList }
    domains.providePreviews((request) => previewPage(deps, request))
    return {
      family: 'content',
      find: async (slug) => {
        const domain = await domains.find(slug)
        return domain && gatewayOf(deps, domain)
      },
      list: async (after) => (await domains.list(after)).map((each) => gatewayOf(deps, each)),
      schedules: {
        'prune-pages': { everySeconds: 60, run: () => cache.prune() },
        'prune-sitemaps': { everySeconds: 3_600, run: () => salesList.prune() },
      },
    }
  },
}

export default content
