import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { landedMigrations, migrationsNow } from '../../support/landed.ts'

const MARKED_FROM = '0090'

describe('released migrations', () => {
  it('never change, because databases with the old version would be refused', async () => {
    const now = await migrationsNow()
    for (const [path, hash] of await landedMigrations()) {
      const why = `${path} has landed: put the change into a new file (core/README.md)`
      expect(now.get(path), why).to.equal(hash)
    }
  })

  it('say what they mean for servers of the previous version, since the rule exists', async () => {
    const folder = 'core/db/migrations'
    const names = (await readdir(folder)).filter((name) => name >= MARKED_FROM)
    for (const name of names) {
      const sql = await readFile(join(folder, name), 'utf8')
      const why = `${name} lacks "-- upgrade: expand" or "-- upgrade: contract" (CONTRIBUTING.md)`
      expect(sql, why).to.match(/^-- upgrade: (?:expand|contract)$/m)
    }
  })

  it('are all listed', async () => {
    const why = 'run "npm run db:dump", and commit core/db/landed.sha256'
    expect([...(await landedMigrations()).keys()], why).to.deep.equal([
      ...(await migrationsNow()).keys(),
    ])
  })
})
