import { expect } from 'chai'
import { parseEntry } from '../../../core/hosting/entry.ts'
import type { HostedPlugin } from '../../../core/hosting/host-plugin.ts'
import { PluginSet } from '../../../core/hosting/plugin-set.ts'
import { createLog } from '../../../core/log.ts'
import type { AnyService } from '../../../core/plugin/index.ts'
import { eventually } from '../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

describe('a replaced plugin with pending calls', () => {
  let database: FreshDatabase
  let closed: string[]
  let logged: string[]
  beforeEach(async () => {
    database = await freshDatabase()
    closed = []
    logged = []
  })
  afterEach(() => database.drop())

  /** Creates a set whose plugin was replaced once; its first version retires by `retire`. */
  const changed = async (retire: () => Promise<void>): Promise<PluginSet> => {
    let version = 0
    const open = async (): Promise<HostedPlugin> => {
      const name = String(++version)
      return {
        located: {
          spec: 'word',
          folder: '',
          entry: '',
          version: name,
          isolation: 'inline',
          needs: [],
        },
        isolation: 'inline',
        declaration: { slug: 'word' } as AnyService,
        retire,
        close: async () => void closed.push(name),
      }
    }
    const set = new PluginSet({
      pool: database.pool,
      entries: [parseEntry('word')],
      reservedSlugs: new Set(),
      open,
      process: 'test:1',
      log: createLog('warn', { write: (line) => logged.push(line) }),
    })
    await set.open()
    await set.follow({ put: async () => undefined, drop: async () => undefined })
    await database.admin.query(
      `INSERT INTO hub.plugin (spec, entry, generation) VALUES ('word', 'word', 1)`,
    )
    await eventually(() => set.hosted[0]?.located.version === '2')
    return set
  }

  it('closes with the hub even if the calls have not ended', async () => {
    const set = await changed(() => new Promise(() => {}))
    await set.close()
    expect(closed.toSorted()).to.deep.equal(['1', '2'])
  })

  it('logs a failure to close, without further effect', async () => {
    const set = await changed(() => Promise.reject(new Error('its database was gone')))
    await eventually(() => logged.join('').includes('its database was gone'))
    await set.close()
    expect(closed).to.deep.equal(['2'])
  })
})
