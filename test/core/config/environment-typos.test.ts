import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { VARIABLE_NAMES } from '../../../core/config/environment.ts'
import { readConfig } from '../../../core/config.ts'

const warnings = (...names: string[]): readonly string[] =>
  readConfig(Object.fromEntries(names.map((name) => [name, '1']))).ignoredVariables

/** Pages that document variables, including those read by other programs than the hub. */
const PAGES = ['core/CONFIGURATION.md', 'server/cli/README.md', 'plugins/README.md']

describe('a misspelled variable', () => {
  for (const [name, meant] of [
    ['HUB_LOGLEVEL', 'HUB_LOG_LEVEL'],
    ['HUB_COMISION_BPS', 'HUB_COMMISSION_BPS'],
    ['HUB_PROT', 'HUB_PORT'],
    ['HUB_RPC_URL', 'RPC_URL'],
    ['X402_FACILITATOR_TOKENS', 'X402_FACILITATOR_TOKEN'],
    ['DATABASE_DIRECT_URI', 'DATABASE_DIRECT_URL'],
  ] as const) {
    it(`is reported with the probable name: ${name}`, () => {
      expect(warnings(name)).to.deep.equal([`${name} is ignored: did you mean ${meant}?`])
    })
  }

  it('is reported without its value', () => {
    const { ignoredVariables } = readConfig({ X402_FACILITATOR_TOKN: 'a-bearer-token' })
    expect(ignoredVariables.join())
      .to.match(/TOKEN\?$/)
      .and.not.include('a-bearer-token')
  })

  it('is neither one that the hub reads nor one of another program', () => {
    const others = ['HUB_SERVICE_HOST', 'HUB_PLUGIN_MINE', 'HUB_TEST_CLUSTERS', 'HUB_CONFIG_DIR']
    expect(warnings(...others, 'DATABASE_POOL', 'HOST', 'LOG_LEVEL')).to.deep.equal([])
  })

  it('is not documented on any page', () => {
    const text = PAGES.map((page) => readFileSync(page, 'utf8')).join()
    const names = text.match(/`(?:HUB|X402|DATABASE)_[A-Z\d_]+`/g)!.map((each) => each.slice(1, -1))
    expect(names).to.include.members(['HUB_PORT', 'HUB_HOME', 'HUB_MAX_PRICE', 'DATABASE_URL'])
    const env = Object.fromEntries(names.map((name) => [name, '']))
    expect(readConfig(env).ignoredVariables).to.deep.equal([])
  })
})

describe('CONFIGURATION.md', () => {
  it('lists every variable', () => {
    const table = readFileSync('core/CONFIGURATION.md', 'utf8')
    expect(VARIABLE_NAMES.filter((name) => !table.includes(`\`${name}\``))).to.deep.equal([])
  })
})

describe('PORT, which hosting platforms set', () => {
  it('is reported as ignored, unless HUB_PORT or a passed socket says where to listen', () => {
    const ignoredVariables = (env: NodeJS.ProcessEnv) =>
      readConfig({ PORT: '10000', ...env }).ignoredVariables
    expect(ignoredVariables({})).to.deep.equal([
      'PORT is ignored: set HUB_PORT to the port to listen on, or to 8402.',
    ])
    expect(ignoredVariables({ HUB_PORT: '8402' })).to.deep.equal([])
    expect(ignoredVariables({ LISTEN_FDS: '1' })).to.deep.equal([])
  })
})
