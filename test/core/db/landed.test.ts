import { expect } from 'chai'
import { landedMigrations, migrationsNow } from '../../support/landed.ts'

describe('released migrations', () => {
  it('never change, because databases with the old version would be refused', async () => {
    const now = await migrationsNow()
    for (const [path, hash] of await landedMigrations()) {
      const why = `${path} has landed: put the change into a new file (core/README.md)`
      expect(now.get(path), why).to.equal(hash)
    }
  })

  it('are all listed', async () => {
    const why = 'run "npm run db:dump", and commit core/db/landed.sha256'
    expect([...(await landedMigrations()).keys()], why).to.deep.equal([
      ...(await migrationsNow()).keys(),
    ])
  })
})
