import { expect } from 'chai'
import { parseEntry } from '../../../core/hosting/entry.ts'
import type { Hosted } from '../../../core/hosting/hosting.ts'
import { PluginSet } from '../../../core/hosting/plugin-set.ts'
import { createLog } from '../../../core/log.ts'
import type { AnyService } from '../../../core/plugin/index.ts'
import { eventually } from '../../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

describe('a plugin that was changed, and has calls under way', () => {
  let database: FreshDatabase
  let closed: string[]
  let logged: string[]
  beforeEach(async () => {
    database = await freshDatabase()
    closed = []
    logged = []
  })
  afterEach(() => database.drop())

  /** A set whose plugin was changed once; its first version ends as `retire` says. */
  const changed = async (retire: () => Promise<void>): Promise<PluginSet> => {
    let version = 0
    const open = async (): Promise<Hosted> => {
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
        sold: { slug: 'word' } as AnyService,
        retire,
        close: async () => void closed.push(name),
      }
    }
    const set = new PluginSet({
      pool: database.pool,
      entries: [parseEntry('word')],
      taken: new Set(),
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

  it('ends with the hub, though they have not come to their end', async () => {
    const set = await changed(() => new Promise(() => {}))
    await set.close()
    expect(closed.toSorted()).to.deep.equal(['1', '2'])
  })

  it('may end badly: the operator is told, and nothing else comes of it', async () => {
    const set = await changed(() => Promise.reject(new Error('its database was gone')))
    await eventually(() => logged.join('').includes('its database was gone'))
    await set.close()
    expect(closed).to.deep.equal(['2'])
  })
})
