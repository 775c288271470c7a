import { expect } from 'chai'
import { productionNetworks } from '../../../core/config/payment-networks.ts'
import { readConfig } from '../../../core/config.ts'
import { POLYGON } from './network-list.ts'

const read = (list: unknown) => readConfig({ HUB_X402_NETWORKS: JSON.stringify(list) })

describe('the list of further networks', () => {
  it('is empty by default, and needs only names in a sandbox', () => {
    expect(readConfig({}).networks).to.deep.equal([])
    expect(read([{ network: 'eip155:137' }]).networks).to.deep.equal(['eip155:137'])
  })

  const refused = {
    'names one twice': [POLYGON, POLYGON],
    'names one that the hub does not know': [{ network: 'eip155:1337' }],
    'names Base, which is never a further one': [{ network: 'eip155:8453' }],
    'has an entry without a name': [{}],
    'has an unknown member': [{ ...POLYGON, asset: '0x1' }],
    'is no list': { network: 'eip155:137' },
  }
  for (const [title, list] of Object.entries(refused)) {
    it(`is refused if it ${title}`, () => expect(() => read(list)).to.throw(/^HUB_X402_NETWORKS/))
  }

  it('is refused if it is no JSON', () =>
    expect(() => readConfig({ HUB_X402_NETWORKS: 'polygon' })).to.throw(/not a JSON list/))

  it('needs everything with real money', () => {
    expect(() => productionNetworks([{ network: 'eip155:137' }])).to.throw(
      'HUB_X402_NETWORKS: eip155:137 needs rpc, genesis, facilitator, treasury, confirmations too.',
    )
    expect(productionNetworks([POLYGON as never])).to.deep.equal([POLYGON])
  })

  it('has secrets that logs must not show', () => {
    const { secrets } = read([{ ...POLYGON, token: 'token-of-the-service' }])
    expect(secrets).to.include(POLYGON.rpc).and.to.include('token-of-the-service')
  })
})
