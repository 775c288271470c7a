import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { HubError } from '../../../core/client/index.ts'
import { readConfig } from '../../../core/config.ts'
import { createPool } from '../../../core/db/pool.ts'
import { parseEntries } from '../../../core/hosting/entry.ts'
import { usd } from '../../../core/money.ts'
import { startJobs } from '../../../jobs/index.ts'
import { pluginsCommand } from '../../../server/commands/plugins/index.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestAgent } from '../../support/hub.ts'
import { injectedHost } from '../../support/injected-host.ts'
import { useHub } from '../../support/suite.ts'

const HELPER = 'export const wait = (ms: number) => new Promise((done) => setTimeout(done, ms))'

/** Source of a plugin of two files that returns its version. */
const source = (version: string, price = '0.001') => `
import { defineService, s, usd } from 'agenthub/plugin'
import { version, wait } from './parts.ts'
export default defineService({
  slug: 'changing', name: 'Changing', category: 'test', summary: 'Changes.', provider: 'example',
  endpoints: {
    'POST /version': {
      summary: 'Its version.', price: usd('${price}'), input: s.object({ ms: s.integer() }),
      handle: async ({ input }) => (await wait(input.ms), { version, says: '${version}' }),
    },
  },
})
`
const parts = (version: string) => `${HELPER}\nexport const version = '${version}'\n`

describe('a plugin that changes while the hub runs', () => {
  let folder: string
  const hub = useHub(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agenthub-plugin-'))
    const { hosting } = readConfig({})
    return { config: { hosting: { ...hosting, entries: parseEntries('/nowhere/at/all') } } }
  })
  let agent: TestAgent
  before(async () => {
    agent = await hub().agent()
    await hub().credit(agent.keyId, usd('1'))
  })
  after(() => rm(folder, { recursive: true, force: true }))

  const write = async (version: string, text = source(version)): Promise<void> => {
    await writeFile(join(folder, 'index.ts'), text)
    await writeFile(join(folder, 'parts.ts'), parts(version))
    const about = { name: 'changing', version: `${version}.0.0`, type: 'module' }
    await writeFile(join(folder, 'package.json'), JSON.stringify(about))
  }
  /** The operator's command, beside the hub. */
  const command = async (...args: readonly string[]) => {
    const { databaseUrl } = hub()
    const pool = createPool(databaseUrl)
    const texts: string[] = []
    const write = (text: string) => void texts.push(text)
    const config = { ...readConfig({ HUB_PLUGINS: '/nowhere/at/all' }) }
    const loadParts = async () => ({ plugins: [], privileged: [], startJobs })
    const around = {
      config,
      loadParts,
      host: injectedHost,
      connect: async () => pool,
      write,
      tell: write,
    }
    try {
      return { code: await pluginsCommand(around, args), text: texts.join('') }
    } finally {
      await pool.end()
    }
  }
  const ask = (ms = 0) => agent.client.call('changing', '/version', { ms })
  const versionOrCode = (ms?: number) =>
    ask(ms).then(
      ({ body }) => body['version'],
      (error: HubError) => error.code,
    )

  it('is not missed where it cannot be opened: the hub serves the rest', async () => {
    expect((await agent.client.call('echo', '/say', { words: 'hello' })).status).to.equal(200)
    expect(await versionOrCode()).to.equal('service_not_found')
    expect(hub().logged()).to.include('there is no such path')
  })

  for (const isolation of ['inline', 'worker']) {
    it(`is added, changed with pending calls, and removed: ${isolation}`, async () => {
      await write('1')
      const added = await command('add', `${folder}=${isolation}`)
      expect(added).to.deep.include({ code: 0 })
      expect(added.text).to.include(`changing 1.0.0, ${isolation}`)
      expect(await versionOrCode()).to.equal('1')

      const slow = Array.from({ length: 5 }, () => versionOrCode(1_500))
      const over = new AbortController()
      const seen: unknown[] = []
      const stream = (async () => {
        while (!over.signal.aborted) seen.push(await versionOrCode())
      })()
      await write('2', source('2', '0.002'))
      expect((await command('reload', folder)).text).to.include('changing 2.0.0')
      const { body, charged } = await ask()
      await eventually(() => seen.includes('2'))
      over.abort()
      await stream
      expect(body).to.deep.equal({ version: '2', says: '2' })
      expect(charged).to.equal(usd('0.002'))
      expect(await Promise.all(slow), 'started and ended on the old one').to.deep.equal(
        Array(5).fill('1'),
      )
      expect(new Set(seen), 'no call was dropped').to.deep.equal(new Set(['1', '2']))

      await write('3', source('3').replace("'POST /version'", "'NO /version'"))
      const refused = await command('reload', folder)
      expect(refused.code).to.equal(1)
      expect(refused.text).to.match(/refused, nothing changed: service changing: endpoints/)
      expect(await versionOrCode()).to.equal('2')

      expect(await command('remove', folder)).to.deep.include({ code: 0 })
      expect(await versionOrCode()).to.equal('service_not_found')
      const { rows } = await hub().hub.pool.query(
        `SELECT state FROM hub.service WHERE slug = 'changing'`,
      )
      expect(rows).to.deep.equal([{ state: 'retired' }])
    })
  }

  it('is refused if it is invalid, and its previous version keeps running', async () => {
    await write('4')
    expect(await command('add', folder)).to.deep.include({ code: 0 })
    const taken = source('5').replace("slug: 'changing'", "slug: 'echo'")
    await write('5', taken)
    const { code, text } = await command('reload', folder)
    expect(code).to.equal(1)
    expect(text).to.include('changing 4.0.0').and.include('refused: the slug echo is taken')
    expect(await versionOrCode()).to.equal('4')
    expect((await command('list')).text).to.include('refused: the slug echo is taken')
  })

  it('reports invalid arguments', async () => {
    expect(await command('reload', 'unheard-of')).to.deep.include({ code: 2 })
    expect((await command('add', 'x=nowhere')).code).to.equal(2)
    const absent = await command('add', 'unheard-of')
    expect(absent.code).to.equal(1)
    expect(absent.text).to.include('npm install unheard-of')
  })
})
