import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { openLogins } from '../../../core/db/logins.ts'
import { createPool } from '../../../core/db/pool.ts'
import { describeFailure } from '../../../server/boot/exit.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

const run = promisify(execFile)
const MAIN = join(import.meta.dirname, '../../../server/main.ts')

describe('the last words of a command', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  it('name other logins if that of the database lacks a right, without a stack', async () => {
    const { url } = await openLogins({ url: database.url })
    const pool = createPool(url)
    try {
      const refused = await pool.query('SELECT * FROM hub.migration').catch((error) => error)
      expect(describeFailure(refused)).to.match(
        /^The database login may not do this \(permission denied .*\)\. Set [^\n]+$/,
      )
    } finally {
      await pool.end()
    }
  })

  it('do so for a command of the owner, run with the login that serves', async () => {
    const { url } = await openLogins({ url: database.url })
    const env = { ...process.env, DATABASE_URL: url, DATABASE_OWNER_URL: '' }
    const args = [MAIN, 'calls', 'list']
    const failed = await run(process.execPath, args, { env }).catch((error: unknown) => error)
    expect(failed).to.have.property('code', 1)
    expect((failed as { stderr: string }).stderr).to.match(/^The database login may not do this/)
  })
})
