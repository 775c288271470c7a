import { generateKeyPairSync } from 'node:crypto'
import { expect } from 'chai'
import { generatePrivateKey } from 'viem/accounts'
import { ConfigError, readConfig } from '../../../../core/config.ts'

const PRODUCTION = {
  RPC_URL: 'https://rpc.acme.com',
  TREASURY_ADDRESS: '0x5f3b8c0a91d2e47c6a0b1f8d93e2c4a75b6d1e09',
  SPEND_WALLET_KEY: generatePrivateKey(),
  GAS_WALLET_KEY: generatePrivateKey(),
  HUB_ETH_PRICE: '3000',
  DATABASE_URL: 'postgres://localhost/hub',
  HUB_BASE_URL: 'https://hub.acme.com',
  HUB_SIGNING_KEY: generateKeyPairSync('ed25519')
    .privateKey.export({ format: 'der', type: 'pkcs8' })
    .toString('base64'),
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
