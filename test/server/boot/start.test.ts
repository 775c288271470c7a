import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { ConfigError, readConfig } from '../../../core/config.ts'
import { createLog } from '../../../core/log.ts'
import { startHub } from '../../../server/boot/start.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { useHub } from '../../support/suite.ts'

describe('a second hub', () => {
  const first = useHub()
  let database: FreshDatabase
  let dataDir: string
  before(async () => {
    database = await freshDatabase()
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
  })
  after(async () => {
    await database.drop()
    await rm(dataDir, { recursive: true, force: true })
  })

  it('on a port in use fails, names the variable to set, and cleans up', async () => {
    const port = Number(new URL(first().url).port)
    const error = await startHub({
      config: { ...readConfig({}), dataDir, port, databaseUrl: database.url, jobs: false },
      loadParts: async () => ({
        plugins: [],
        privileged: [],
        startJobs: async () => ({ stop: async () => {} }),
      }),
      log: createLog('silent'),
    }).catch((reason: unknown) => reason)
    expect(error).to.be.instanceOf(ConfigError)
    expect((error as ConfigError).message).to.match(new RegExp(`^Port ${port} .*HUB_PORT`))
  })
})

describe('a running hub', () => {
  const hub = useHub()

  it('has no connection of the owner of the database', async () => {
    const { rows } = await hub().database.admin.query<{ name: string }>(
      `SELECT DISTINCT usename AS name FROM pg_stat_activity
       WHERE datname = current_database() AND application_name LIKE 'agenthub%' ORDER BY 1`,
    )
    const names = rows.map(({ name }) => name.replace(/^.*_/, ''))
    expect(names).to.deep.equal(['finance', 'serving'])
  })
})

describe('the hub at its start', () => {
  const nowhere = '/dev/null/none' // it goes no further, and leaves nothing behind
  const errorsOf = async (env: NodeJS.ProcessEnv): Promise<string> => {
    const run = promisify(execFile)(process.execPath, ['server/main.ts', 'serve'], { env })
    return (await run.catch((error: { stderr: string }) => error)).stderr
  }

  it('says which variable is misspelt', async () => {
    const text = await errorsOf({ HUB_LOGLEVEL: 'debug', HUB_DATA_DIR: nowhere })
    expect(text).to.include('HUB_LOGLEVEL is ignored: did you mean HUB_LOG_LEVEL?')
  })

  it('says at the first one, which takes longest, what it creates', async () => {
    const text = `Creating a sandbox in ${nowhere}: database, chain and wallets.`
    expect(await errorsOf({ HUB_DATA_DIR: nowhere })).to.include(text)
  })
})
