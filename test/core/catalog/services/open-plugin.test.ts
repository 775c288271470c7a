import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { openPlugin } from '../../../../core/catalog/services/open-plugin.ts'
import { createLog } from '../../../../core/log.ts'
import {
  type Database,
  type DataPlugin,
  defineService,
  s,
  usd,
} from '../../../../core/plugin/index.ts'
import { injectedHost } from '../../../support/injected-host.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { rejectionMessage } from '../../../support/rejection.ts'

describe('a plugin that stores data', () => {
  let fresh: FreshDatabase
  let folder: string
  before(async () => {
    fresh = await freshDatabase()
    folder = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    await writeFile(join(folder, '0001_note.sql'), 'CREATE TABLE note (words text PRIMARY KEY)')
  })
  after(async () => {
    await fresh.drop()
    await rm(folder, { recursive: true, force: true })
  })

  let database: Database
  const plugin = (slug = 'note-book', declared = slug): DataPlugin => ({
    slug,
    migrations: pathToFileURL(`${folder}/`),
    open: (host) => {
      database = host.database
      return defineService({
        slug: declared,
        name: 'Notes',
        category: 'test',
        summary: 'Keeps words.',
        provider: 'example',
        endpoints: {
          'POST /keep': {
            summary: 'Keeps them.',
            price: usd('0.001'),
            input: s.object({}),
            handle: () => ({}),
          },
        },
      })
    },
  })
  const injection = () => ({ host: injectedHost, databaseUrl: fresh.url, log: createLog('silent') })

  it('has its own schema, to which its migrations are applied once', async () => {
    for (let start = 0; start < 2; start += 1) {
      const opened = await openPlugin(plugin(), injection())
      await database.query('INSERT INTO note VALUES ($1)', [`start ${start}`])
      await opened.close()
    }
    const { rows } = await fresh.admin.query(
      'SELECT count(*)::integer AS n FROM plugin_note_book.note',
    )
    expect(rows).to.deep.equal([{ n: 2 }])
  })

  it('cannot access data of the hub or of another plugin', async () => {
    const other = await openPlugin(plugin('other-book'), injection())
    const opened = await openPlugin(plugin(), injection())
    const forbidden = [
      'SELECT * FROM hub.api_key',
      'SELECT * FROM ledger.balance',
      'SELECT * FROM plugin_other_book.note',
      'CREATE TABLE public.mine (n integer)',
      'CREATE SCHEMA mine',
      'SELECT * FROM hub.migration',
    ]
    for (const text of forbidden) {
      expect(await rejectionMessage(database.query(text)), text).to.match(/permission denied/)
    }
    await opened.close()
    await other.close()
  })

  it('commits all of a transaction, or nothing', async () => {
    const opened = await openPlugin(plugin(), injection())
    const broken = database.transaction(async (transaction) => {
      await transaction.query(`INSERT INTO note VALUES ('lost')`)
      throw new Error('as asked')
    })
    expect(await rejectionMessage(broken)).to.equal('as asked')
    const lost = await database.query(`SELECT FROM note WHERE words = 'lost'`)
    expect(lost.rowCount).to.equal(0)
    const write = database.reading((at) => at.query(`INSERT INTO note VALUES ('read')`))
    expect(await rejectionMessage(write)).to.include('read-only')
    await opened.close()
  })

  it('is refused if its slug is invalid or differs from that of its service', async () => {
    expect(await rejectionMessage(openPlugin(plugin('Bad"; --'), injection()))).to.include(
      'the slug is not',
    )
    expect(await rejectionMessage(openPlugin(plugin('note-book', 'else'), injection()))).to.include(
      'is named else',
    )
  })

  it('is refused if a migration has changed after it was applied', async () => {
    await writeFile(join(folder, '0001_note.sql'), 'CREATE TABLE note (words text)')
    expect(await rejectionMessage(openPlugin(plugin(), injection()))).to.include('has changed')
  })
})
