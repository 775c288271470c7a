import { execFile } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { useHub } from '../../support/suite.ts'

const run = promisify(execFile)
const ROOT = new URL('../../..', import.meta.url).pathname
const NEEDED = [
  'core',
  'server/cli',
  'server/downloads/manifest.ts',
  'test/support/pack.ts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
]
const TSC = join(ROOT, 'node_modules/.bin/tsc')

const USES = `
import { HubClient } from 'agenthub/client'
import { defineService, s, usd } from 'agenthub/plugin'

export const client: HubClient = new HubClient({ baseUrl: 'http://127.0.0.1:1' })
export const service = defineService({
  slug: 'shout', name: 'Shout', category: 'test', summary: 'Says it louder.', provider: 'me',
  endpoints: {
    'POST /say': {
      summary: 'Capital letters.', price: usd('0.001'),
      input: s.object({ words: s.string({ maxLength: 10 }) }),
      handle: ({ input }) => ({ words: input.words.toUpperCase() }),
    },
  },
})
// @ts-expect-error a price is no number
defineService({ ...service, endpoints: { 'GET /x': { summary: 'x', price: 1 } } })
`
const SHOWS = `
import * as client from 'agenthub/client'
import * as plugin from 'agenthub/plugin'
import * as testing from 'agenthub/testing'
const names = [client, plugin, testing].map((each) => Object.keys(each))
process.stdout.write(JSON.stringify(names))
`

/** Packs a copy, because packing temporarily replaces package.json, and unpacks it. */
async function installed(home: string): Promise<string> {
  const source = join(home, 'source')
  for (const name of NEEDED) {
    mkdirSync(dirname(join(source, name)), { recursive: true })
    cpSync(join(ROOT, name), join(source, name), { recursive: true })
  }
  symlinkSync(join(ROOT, 'node_modules'), join(source, 'node_modules'))
  const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }
  const { stdout } = await run('npm', ['pack', '--json', '--offline'], { cwd: source, env })
  const [{ filename }] = JSON.parse(stdout.slice(stdout.indexOf('['))) as [{ filename: string }]
  const folder = join(home, 'user/node_modules/agenthub')
  mkdirSync(folder, { recursive: true })
  await run('tar', ['xzf', join(source, filename), '--strip-components=1', '-C', folder])
  return folder
}

describe('the package built by npm pack', () => {
  const hub = useHub()
  const home = mkdtempSync(join(tmpdir(), 'agenthub-pack-'))
  const user = join(home, 'user')
  let folder: string
  let manifest: Record<'dependencies' | 'bin', Readonly<Record<string, string>>>
  before(async () => {
    folder = await installed(home)
    manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    // Only its declared dependencies, as npm would install them.
    for (const name of [...Object.keys(manifest.dependencies), '@types/node']) {
      mkdirSync(dirname(join(user, 'node_modules', name)), { recursive: true })
      symlinkSync(join(ROOT, 'node_modules', name), join(user, 'node_modules', name))
    }
    writeFileSync(join(user, 'package.json'), '{"type":"module"}')
  })
  after(() => rmSync(home, { recursive: true, force: true }))

  it('contains compiled JavaScript and types, and no sources', () => {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    expect(names.filter((name) => /(?<!\.d)\.ts$/.test(name))).to.deep.equal([])
    expect(names).to.include.members(['dist/core/plugin/index.js', 'dist/core/client/index.d.ts'])
    expect(names.some((name) => /plugins\/|test\/|ledger\/.*\.sql/.test(name))).to.equal(false)
  })

  it('has an SBOM of every package that a hub installs, and of no tool', () => {
    interface Component {
      readonly name: string
      readonly version: string
    }
    const text = readFileSync(join(folder, 'dist/sbom.cdx.json'), 'utf8')
    const bom = JSON.parse(text) as { bomFormat: string; components: readonly Component[] }
    const listed = bom.components.map(({ name, version }) => `${name}@${version}`)
    const own = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>
    }
    const installed = Object.entries(own.dependencies).map(([name, each]) => `${name}@${each}`)
    expect(bom.bomFormat).to.equal('CycloneDX')
    expect(listed).to.include.members(installed)
    expect(text).to.not.match(/timestamp|serialNumber/)
    expect(listed.filter((name) => /^(?:mocha|knip|c8)@/.test(name))).to.deep.equal([])
  })

  it('has a command that registers and buys a call', async () => {
    const main = join(folder, manifest.bin['hub']!)
    const env = { PATH: process.env['PATH'] ?? '', HOME: home, HUB_BASE_URL: hub().url }
    const say = (...words: string[]) => run(process.execPath, [main, ...words], { env, cwd: home })
    expect((await say('--help')).stdout).to.include('hub call analysis/sentiment')
    expect(JSON.parse((await say('--json', 'register')).stdout)).to.have.property('key_id')
    const paid = await say('--json', '--yes', 'topup', '5')
    expect(JSON.parse(paid.stdout)).to.include({ state: 'settled' })
    const called = await say('--json', 'call', 'echo/say', '-d', '{"words":"packed"}')
    expect(JSON.parse(called.stdout)).to.deep.include({ body: { words: 'packed' } })
  })

  it('installs a copy of itself if it is in a temporary folder, and the copy runs', async () => {
    const main = join(folder, manifest.bin['hub']!)
    const env = { PATH: process.env['PATH'] ?? '', HOME: home, HUB_BASE_URL: hub().url }
    mkdirSync(join(home, '.cursor'))
    const { stderr } = await run(process.execPath, [main, 'install', 'cursor'], { env, cwd: home })
    expect(stderr).to.include('It works: 9 tools')
    const { mcpServers } = JSON.parse(readFileSync(join(home, '.cursor/mcp.json'), 'utf8')) as {
      readonly mcpServers: { readonly agenthub: { readonly args: readonly string[] } }
    }
    const [path = ''] = mcpServers.agenthub.args
    expect(path.startsWith(join(home, '.local/share/agenthub/cli/'))).to.equal(true)
    const again = await run(process.execPath, [main, 'install', 'cursor'], { env, cwd: home })
    expect(again.stdout).to.include('unchanged')
  })

  it('exports the client, the plugin API and its conformance suite', async () => {
    writeFileSync(join(user, 'shows.mjs'), SHOWS)
    const { stdout } = await run(process.execPath, ['shows.mjs'], { cwd: user })
    const [client, plugin, testing] = JSON.parse(stdout) as string[][]
    expect(client).to.include.members(['HubClient', 'usd'])
    expect(plugin).to.include.members(['defineService', 's', 'usd', 'Refusal'])
    expect(testing).to.not.be.empty
  })

  it('has types that compile in strict mode', async () => {
    writeFileSync(join(user, 'uses.ts'), USES)
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--types', 'node']
    const modules = ['--module', 'nodenext', '--target', 'es2024']
    const result = await run(TSC, [...options, ...modules, 'uses.ts'], { cwd: user }).catch(
      (error: { readonly stdout: string }) => error,
    )
    expect(result.stdout).to.equal('')
  })
})
