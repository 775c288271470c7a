import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { recordBackup } from '../../../core/backup/create-backup.ts'
import { drillRestore } from '../../../core/backup/drill-restore.ts'
import { daysBefore, systemClock } from '../../../core/clock.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

describe('a rehearsed restore', () => {
  let database: FreshDatabase
  const left: string[] = []

  before(async () => {
    database = await freshDatabase()
  })
  after(async () => {
    await Promise.all(left.map((path) => rm(path, { recursive: true, force: true })))
    await database.drop()
  })

  it('removes what an earlier one left behind when its process died', async () => {
    const make = async (): Promise<string> => {
      const folder = await mkdtemp(join(tmpdir(), 'agenthub-drill-'))
      left.push(folder)
      await mkdir(join(folder, 'hub'))
      await writeFile(join(folder, 'hub', 'data'), 'a restored database')
      return folder
    }
    const [dead, running] = [await make(), await make()]
    const other = await mkdtemp(join(tmpdir(), 'other-'))
    const link = join(tmpdir(), `agenthub-drill-link-${process.pid}`)
    left.push(other, link)
    await writeFile(join(other, 'file'), '')
    await symlink(other, link)
    const longAgo = daysBefore(systemClock.now(), 2)
    for (const folder of [dead, other]) await utimes(folder, longAgo, longAgo)
    await recordBackup(database.pool, 'drill', { name: 'backup-20261128T000000Z', bytes: 1 })
    await drillRestore(database.pool, { target: join(other, 'nowhere'), passphrase: 'not due' })
    const found = await readdir(tmpdir())
    const isThere = (path: string): boolean => found.includes(path.slice(tmpdir().length + 1))
    expect([dead, running, other, link].map(isThere)).to.deep.equal([false, true, true, true])
    expect(await readdir(other)).to.deep.equal(['file'])
  })
})
