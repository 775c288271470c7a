import type { DataPlugin } from 'agenthub/plugin'
import { PageCache } from './cache.ts'
import { gatewayOf } from './service.ts'

/** Content gateway: one service per registered domain, created while the hub runs. */
const content: DataPlugin = {
  slug: 'content',
  migrations: new URL('./migrations/', import.meta.url),
  open({ database, domains, ...host }) {
    if (!domains) throw new Error('the content plugin needs to be lent the domains')
    const cache = new PageCache(database)
    const ports = { host, domains, cache }
    return {
      family: 'content',
      find: async (slug) => {
        const domain = await domains.find(slug)
        return domain && gatewayOf(ports, domain)
      },
      list: async (after) => (await domains.list(after)).map((each) => gatewayOf(ports, each)),
      schedules: { 'prune-pages': { everySeconds: 60, run: () => cache.prune() } },
    }
  },
}

export default content
