import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { readConfig } from '../../../core/config.ts'

const told = (...names: string[]): readonly string[] =>
  readConfig(Object.fromEntries(names.map((name) => [name, '1']))).misspelt

/** Where a user learns of names, also of those that another program than the hub reads. */
const PAGES = ['README.md', 'server/cli/README.md', 'plugins/README.md']

describe('a misspelt variable', () => {
  for (const [name, meant] of [
    ['HUB_LOGLEVEL', 'HUB_LOG_LEVEL'],
    ['HUB_COMISION_BPS', 'HUB_COMMISSION_BPS'],
    ['HUB_PROT', 'HUB_PORT'],
    ['HUB_RPC_URL', 'RPC_URL'],
    ['X402_FACILITATOR_TOKENS', 'X402_FACILITATOR_TOKEN'],
    ['DATABASE_DIRECT_URI', 'DATABASE_DIRECT_URL'],
  ] as const) {
    it(`is told with the one that was meant: ${name}`, () => {
      expect(told(name)).to.deep.equal([`${name} is ignored: did you mean ${meant}?`])
    })
  }

  it('is told without its value', () => {
    const { misspelt } = readConfig({ X402_FACILITATOR_TOKN: 'a-bearer-token' })
    expect(misspelt.join())
      .to.match(/TOKEN\?$/)
      .and.not.include('a-bearer-token')
  })

  it('is none that the hub reads, and none of another program', () => {
    const others = ['HUB_SERVICE_HOST', 'HUB_PLUGIN_MINE', 'HUB_TEST_CLUSTERS', 'HUB_CONFIG_DIR']
    expect(told(...others, 'DATABASE_POOL', 'PORT', 'HOST', 'LOG_LEVEL')).to.deep.equal([])
  })

  it('is no name that the pages name', () => {
    const text = PAGES.map((page) => readFileSync(page, 'utf8')).join()
    const names = text.match(/`(?:HUB|X402|DATABASE)_[A-Z\d_]+`/g)!.map((each) => each.slice(1, -1))
    expect(names).to.include.members(['HUB_PORT', 'HUB_HOME', 'HUB_MAX_PRICE', 'DATABASE_URL'])
    const env = Object.fromEntries(names.map((name) => [name, '']))
    expect(readConfig(env).misspelt).to.deep.equal([])
  })
})
