import { expect } from 'chai'
import { ConfigError, readConfig } from '../../../../core/config.ts'

const PRODUCTION = {
  RPC_URL: 'https://rpc.acme.com',
  TREASURY_ADDRESS: `0x${'1'.repeat(40)}`,
  SPEND_WALLET_KEY: `0x${'2'.repeat(64)}`,
  GAS_WALLET_KEY: `0x${'3'.repeat(64)}`,
  HUB_ETH_PRICE: '3000',
  DATABASE_URL: 'postgres://localhost/hub',
  HUB_BASE_URL: 'https://hub.acme.com',
  HUB_SIGNING_KEY: 'MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g',
}

describe('the configured indexes', () => {
  const names = (env: Record<string, string>) =>
    readConfig(env).discovery.indexes.map(({ name }) => name)

  it('are empty in a sandbox, and the public ones in production', () => {
    expect(names({})).to.deep.equal([])
    expect(names(PRODUCTION)).to.deep.equal(['cdp', 'payai'])
  })

  it('are those of HUB_INDEXES if it is set', () => {
    expect(
      names({ HUB_INDEXES: 'mine=https://index.acme.com/x, two=http://a.com/y' }),
    ).to.deep.equal(['mine', 'two'])
    expect(names({ ...PRODUCTION, HUB_INDEXES: 'none' })).to.deep.equal([])
  })

  for (const bad of [
    'https://index.acme.com',
    'a=ftp://x.com',
    'a=https://a.com,a=https://b.com',
  ]) {
    it(`are refused at the start if malformed: ${bad}`, () => {
      expect(() => readConfig({ HUB_INDEXES: bad })).to.throw(ConfigError, 'HUB_INDEXES')
    })
  }
})
