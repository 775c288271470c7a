import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Pool } from 'pg'
import { type EmbeddedServer, startEmbedded } from '../../../core/db/embedded.ts'
import { openLogins } from '../../../core/db/logins.ts'
import { databaseUrl } from '../../../core/db/open.ts'
import { createPool } from '../../../core/db/pool.ts'
import { ConfigError } from '../../../core/runtime/config-error.ts'

const PASSWORD = 'a-password-of-a-test'

describe('the roles of a hub whose owner is no superuser', () => {
  let dataDir: string
  let server: EmbeddedServer
  let root: Pool
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
    await chmod(dataDir, 0o711) // root runs the server as another user
    server = await startEmbedded({ dataDir, durable: false }) // one on which no hub created roles
    root = createPool(server.url)
  })
  after(async () => {
    await root.end()
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  })

  const urlOf = (database: string, login: string): string => {
    const url = new URL(databaseUrl(server.url, database))
    Object.assign(url, { username: login, password: PASSWORD })
    return url.href
  }
  /** Creates a database with an owner of its own. */
  async function createOwned(name: string, right = 'CREATEROLE'): Promise<string> {
    await root.query(`CREATE ROLE ${name}_owner LOGIN ${right} PASSWORD '${PASSWORD}'`)
    await root.query(`CREATE DATABASE ${name} OWNER ${name}_owner`)
    return urlOf(name, `${name}_owner`)
  }
  async function roleAt(url: string, role: string): Promise<string> {
    const pool = createPool(url, { role })
    const { rows } = await pool.query<{ name: string }>('SELECT current_user AS name')
    await pool.end()
    return rows[0]!.name
  }
  const refusal = (options: Parameters<typeof openLogins>[0]) =>
    openLogins(options).then(
      () => '',
      (error: Error) => `${error instanceof ConfigError} ${error.message}`,
    )

  it('are created by the migrations, also in a database named like their prefix', async () => {
    const url = await createOwned('hub')
    const logins = await openLogins({ url, mustSeparate: true })
    const acting = [
      [logins.directUrl, 'hub_app'],
      [logins.directUrl, 'hub_jobs'],
      [logins.financeUrl, 'hub_finance'],
      [url, 'hub_app'],
      [url, 'hub_jobs'],
      [url, 'hub_finance'],
    ] as const
    for (const [login, role] of acting) expect(await roleAt(login, role)).to.equal(role)
  })

  it('serve behind a pooler with the documented login, created by that owner', async () => {
    const url = urlOf('hub', 'hub_owner')
    const owner = createPool(url)
    await owner.query(`CREATE ROLE hub_web LOGIN PASSWORD '${PASSWORD}'`)
    const pooled = { url: urlOf('hub', 'hub_web'), directUrl: url, mustSeparate: true }
    expect(await refusal(pooled)).to.equal(
      'true The database login hub_web may not act as hub_app: run as the owner: ' +
        'GRANT hub_app TO hub_web.',
    )
    await owner.query('GRANT hub_app TO hub_web')
    expect(await refusal(pooled)).to.equal('')
    await owner.end()
  })

  it('are missed at the start, not by the first job', async () => {
    const { directUrl } = await openLogins({ url: urlOf('hub', 'hub_owner') })
    const login = new URL(directUrl).username
    await root.query(`REVOKE hub_jobs FROM ${login} GRANTED BY hub_owner`)
    expect(await refusal({ url: directUrl })).to.include(`GRANT hub_jobs TO ${login}.`)
    await openLogins({ url: urlOf('hub', 'hub_owner') }) // grants it again
    expect(await refusal({ url: directUrl })).to.equal('')
  })

  it('are refused to a second owner, with the statement that is missing', async () => {
    const url = await createOwned('second')
    const grant = 'GRANT hub_app, hub_finance, hub_jobs TO second_owner WITH ADMIN OPTION'
    expect(await refusal({ url })).to.match(new RegExp(`^true .* administrator: ${grant}$`))
    await root.query(grant)
    expect(await refusal({ url })).to.equal('')
  })

  it('need an owner who may create roles', async () => {
    const url = await createOwned('third', 'NOCREATEROLE')
    const [first, second] = (await refusal({ url })).split('administrator: ')[1]!.split('; ')
    expect(first).to.equal('ALTER ROLE third_owner CREATEROLE')
    await root.query(`${first}; ${second}`)
    expect(await refusal({ url })).to.equal('')
  })
})
