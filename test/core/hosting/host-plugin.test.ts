import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { elapsedMs } from '../../../core/clock.ts'
import { parseEntries, parseEntry, writeEntry } from '../../../core/hosting/entry.ts'
import { type HostedPlugin, hostPlugin, limitedLog } from '../../../core/hosting/host-plugin.ts'
import { locate } from '../../../core/hosting/locate.ts'
import { createLog } from '../../../core/log.ts'
import { type AnyEndpoint, type AnyService, Failure } from '../../../core/plugin/index.ts'
import { injectedHost } from '../../support/injected-host.ts'
import { rejectionMessage } from '../../support/rejection.ts'

const clock = { now: () => new Date('2031-05-01T00:00:00Z') }
const deps = {
  host: { ...injectedHost, clock },
  databaseUrl: '',
  log: createLog('silent'),
  passwordsOf: () => [''] as const,
}
const settings = { memoryMb: 128, node: '/bin/false', backOffMs: [0, 60_000] }
const TIDY = fileURLToPath(new URL('./plugins/tidy.ts', import.meta.url))

describe('HUB_PLUGINS', () => {
  it('lists packages and paths, their isolation and their capabilities', () => {
    const text =
      '@acme/weather=process+http+secret:KEY+database:the-weather, ./joke ,plugins/iban=worker'
    expect(parseEntries(text)).to.deep.equal([
      {
        spec: '@acme/weather',
        isolation: 'process',
        injected: ['http', 'secret:KEY', 'database:the-weather'],
      },
      { spec: './joke', isolation: undefined, injected: [] },
      { spec: 'plugins/iban', isolation: 'worker', injected: [] },
    ])
    for (const entry of parseEntries(text)) {
      expect(parseEntry(writeEntry(entry))).to.deep.equal(entry)
    }
    expect(parseEntries('a-b,a-b=worker')).to.have.length(1)
  })

  it('is refused if an entry is ambiguous', () => {
    for (const text of [
      'x=else',
      'x+wallet',
      'x=worker+secret:lower',
      'x=worker+database',
      'x=worker+database:a"b',
      'X Y',
      '=worker',
      'x==worker',
    ]) {
      expect(() => parseEntries(text), text).to.throw()
    }
  })
})

describe('a located plugin', () => {
  let home: string
  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'agenthub-locate-'))
  })
  after(() => rm(home, { recursive: true, force: true }))

  const made = async (name: string, about: object, files: Readonly<Record<string, string>>) => {
    const folder = join(home, 'node_modules', name)
    await mkdir(join(folder, 'dist'), { recursive: true })
    await writeFile(join(folder, 'package.json'), JSON.stringify(about))
    for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text)
    return folder
  }
  const find = (spec: string) => locate(spec, [join(home, 'node_modules')])

  it('is found by package name, compiled, with the isolation of its package', async () => {
    const agenthub = { apiVersion: 1, isolation: 'worker', needs: ['http', 'browser'] }
    const exports = { '.': { types: './dist/index.d.ts', default: './dist/index.js' } }
    const about = { name: '@me/shout', version: '1.2.3', type: 'module', exports, agenthub }
    const code = `import { defineService, s, usd } from 'agenthub/plugin'
export default defineService({ slug: 'shout', name: 'Shout', category: 'test', summary: 'Shouts.',
  provider: 'me', endpoints: { 'POST /say': { summary: 'Shouts.', price: usd('0.001'),
    input: s.object({ words: s.string() }), handle: ({ input }) => input.words.toUpperCase() } } })`
    const folder = await made('@me/shout', about, { 'dist/index.js': code, 'index.ts': 'no code' })
    const located = await find('@me/shout')
    expect(located).to.include({ folder, version: '1.2.3', isolation: 'worker' })
    expect(located.entry).to.match(/dist\/index\.js$/)
    const missing = rejectionMessage(hostPlugin(parseEntry(folder), deps, settings))
    expect(await missing, 'all at once').to.match(
      /needs http, browser; to inject it: HUB_PLUGINS=.*shout=worker\+http\+browser/,
    )
    const hosted = await hostPlugin(parseEntry(`${folder}=worker+http+browser`), deps, settings)
    try {
      const { endpoints } = hosted.declaration as AnyService
      const { handle } = (endpoints as Record<string, AnyEndpoint>)['POST /say']!
      const call = {
        id: '1',
        input: { words: 'hey' },
        payer: 'x',
        terms: null,
        charge: () => {},
        meter: () => true,
      }
      expect(await handle({ ...call, signal: AbortSignal.timeout(30_000) })).to.equal('HEY')
    } finally {
      await hosted.close()
    }
  })

  it('is refused with the reason if it is missing or requires another API version', async () => {
    expect(await rejectionMessage(find('nobody'))).to.include('npm install nobody')
    expect(await rejectionMessage(find('./nowhere'))).to.include('no such path')
    await made('later', { agenthub: { apiVersion: 2 } }, {})
    expect(await rejectionMessage(find('later'))).to.include(
      'requires version 2 of the plugin API; this hub has 1',
    )
    await made('unbuilt', { exports: './dist/index.js' }, { 'index.ts': '' })
    expect(await rejectionMessage(find('unbuilt'))).to.include('is it built?')
    await made('odd', { agenthub: { apiVersion: 'one' } }, {})
    expect(await rejectionMessage(find('odd'))).to.include('agenthub.apiVersion')
  })

  it('with a database, or of a family, is refused in isolation, with instructions', async () => {
    const plugins = {
      keeps: [
        `{ slug: 'keeps', migrations: new URL('./m/', import.meta.url), open: () => {} }`,
        'it requires a database: add +database:keeps to its entry',
      ],
      family: [
        `() => ({ family: 'many', find: async () => undefined, list: async () => [] })`,
        'needs_inline: it is a family',
      ],
    } as const
    for (const [name, [plugin, message]] of Object.entries(plugins)) {
      const about = { type: 'module', exports: './dist/index.js' }
      const code = `export default ${plugin}`
      const folder = await made(name, about, { 'dist/index.js': code })
      const refused = rejectionMessage(hostPlugin(parseEntry(`${folder}=worker`), deps, settings))
      expect(await refused, name).to.include(message)
    }
  })

  it('does not run in a process that could access the network', async () => {
    const refused = rejectionMessage(hostPlugin(parseEntry(`${TIDY}=process`), deps, settings))
    expect(await refused).to.include('requires a Node 26')
    const old = { ...settings, node: process.execPath }
    if (!process.allowedNodeEnvironmentFlags.has('--allow-net')) {
      expect(
        await rejectionMessage(hostPlugin(parseEntry(`${TIDY}=process`), deps, old)),
      ).to.include('Node 26')
    }
  })
})

describe('a plugin in a worker', () => {
  let hosted: HostedPlugin
  before(async () => {
    hosted = await hostPlugin(parseEntry(`${TIDY}=worker`), deps, settings)
  })
  after(() => hosted.close())
  const service = () => hosted.declaration as AnyService
  const ask = (route: string, headers = {}) => {
    const { handle } = (service().endpoints as Record<string, AnyEndpoint>)[route]!
    const signal = AbortSignal.timeout(30_000)
    const call = {
      id: '1',
      input: {},
      payer: 'x',
      headers,
      terms: null,
      charge: () => {},
      meter: () => true,
      signal,
    }
    return Promise.resolve(handle(call))
  }

  it("runs schedules, is listed on demand, and uses the hub's clock", async () => {
    expect(service().deprecated).to.deep.equal({ since: '2027-01-01' })
    expect(await service().isListed?.()).to.equal(false)
    await service().schedules?.['tidy-up']?.run(AbortSignal.timeout(30_000))
    expect(await service().isListed?.()).to.equal(true)
    const state = { runs: 1, year: 2031, sandbox: true, colour: null }
    expect(await ask('GET /runs')).to.deep.equal(state)
  })

  it('receives the headers that it declares', async () => {
    const { headers } = (service().endpoints as Record<string, AnyEndpoint>)['GET /runs']!
    expect(headers).to.deep.equal(['x-colour'])
    expect(await ask('GET /runs', { 'x-colour': 'red' })).to.include({ colour: 'red' })
  })

  it('is aborted when the time of a run is over', async () => {
    const run = service().schedules?.['never-ends']?.run(AbortSignal.timeout(50))
    expect(await rejectionMessage(run!)).to.match(/timeout/i)
  })

  it('is restarted at once, and with delays if it keeps exiting', async () => {
    expect(await rejectionMessage(ask('POST /exit'))).to.include('ended with 3')
    expect(await ask('GET /runs')).to.deep.include({ runs: 0 })
    expect(await rejectionMessage(ask('POST /exit'))).to.include('ended with 3')
    const refused = await ask('GET /runs').catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(Failure).and.include({ code: 'plugin_restarting' })
    expect((refused as Failure).retryAfterSeconds).to.be.within(1, 60)
  })
})

describe('the log of a plugin', () => {
  it('drops excess lines, reports their number, and truncates long lines', async () => {
    const lines: [string, { readonly dropped_before?: number } | undefined][] = []
    const start = elapsedMs()
    const log = limitedLog((message, fields) => lines.push([message, fields]))
    for (let n = 0; n < 1_000; n++) log('x'.repeat(10_000), { n, text: 'y'.repeat(10_000) })
    expect(lines.length).to.be.within(200, 201 + ((elapsedMs() - start) / 1_000) * 20)
    expect(lines[0]![0]).to.have.length(2_000)
    expect(JSON.stringify(lines[0]![1]).length).to.be.below(4_100)
    await new Promise((resolve) => setTimeout(resolve, 100))
    log('again', {
      loop: (() => {
        const own: { own?: object } = {}
        return (own.own = own)
      })(),
    })
    const dropped = lines.map(([, fields]) => fields?.dropped_before ?? 0)
    expect(lines.at(-1)![0]).to.equal('again')
    expect(lines.length + dropped.reduce((sum, each) => sum + each)).to.equal(1_001)
  })
})
