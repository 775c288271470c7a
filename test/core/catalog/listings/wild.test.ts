import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { type AbiEvent, toEventSelector } from 'viem'
import type { LogQuery } from '../../../../core/catalog/listings/discovery/chain-logs.ts'
import { readPage } from '../../../../core/catalog/listings/discovery/index-page.ts'
import { normalizeRow } from '../../../../core/catalog/listings/discovery/normalize.ts'
import { readOrigin } from '../../../../core/catalog/listings/discovery/read-origin.ts'
import { readRegistry } from '../../../../core/catalog/listings/discovery/read-registry.ts'
import { REASONS } from '../../../../core/catalog/listings/reasons.ts'
import { readConfig } from '../../../../core/config.ts'
import type { Egress } from '../../../../core/egress/http.ts'
import { openCatalogFixture } from '../fixture.ts'

const FOLDER = '../shared/data/x402'
const read = (name: string) => JSON.parse(readFileSync(join(FOLDER, name), 'utf8'))

/** Beside the rows of indexes: see normalize.test.ts. */
describe('x402 data collected in the wild', () => {
  before(function () {
    if (!existsSync(FOLDER)) this.skip()
  })

  it('becomes a listing or a refusal with a reason, in every row and envelope', () => {
    const rules = { httpsOnly: true }
    const results: Record<string, string> = {}
    const judge = (name: string, value: unknown) => {
      const result = normalizeRow(value, rules)
      results[name] = 'reason' in result ? result.reason : 'listed'
      if ('reason' in result) expect(REASONS).to.have.property(result.reason)
    }
    for (const [name, sample] of Object.entries<Record<string, unknown>>(
      read('wild-samples.json'),
    )) {
      if (typeof sample !== 'object') continue
      for (const [part, value] of Object.entries(sample)) {
        judge(`${name}.${part}`, value)
        const page = readPage(value)
        for (const row of page?.rows ?? []) judge(`${name}.${part}.row`, row)
      }
    }
    for (const row of read('x402-field-guide-top12_chain.json')) judge('field-guide', row)
    expect(Object.keys(results)).to.have.length.above(40)
    expect(results['cdp_bazaar_list_item.item']).to.equal('listed')
    expect(results['cdp_search_envelope.envelope.row']).to.equal('not_an_object')
    expect(results['field-guide']).to.equal('no_url')
  })

  it('names a resource by each operation with x-payment-info', async () => {
    const info = read('wild-samples.json').openapi_x_payment_info
    const document = {
      openapi: '3.1.0',
      info: { title: 'Market' },
      paths: {
        '/paid': { get: { summary: 'Sold.', 'x-payment-info': info['x-payment-info'] } },
        '/free': { get: { summary: 'Given.' } },
      },
    }
    const egress = {
      request: async () => ({
        status: 200,
        headers: {},
        body: Buffer.from(JSON.stringify(document)),
      }),
    } as unknown as Egress
    const { targets } = await readOrigin(egress, 'https://market.acme.com', { httpsOnly: true })
    expect(targets.map(({ method, url }) => `${method} ${url}`)).to.deep.equal([
      'GET https://market.acme.com/paid',
    ])
  })

  it('has facilitators that can all be configured', () => {
    const { facilitators } = read('x402scan-facilitators.json') as {
      readonly facilitators: readonly { readonly base_addresses: readonly string[] }[]
    }
    const addresses = facilitators.flatMap((one) => one.base_addresses)
    expect(addresses).to.have.length.above(100)
    const config = readConfig({ HUB_FACILITATORS: addresses.join(',') })
    expect(config.discovery.facilitators).to.include.members(addresses.map((a) => a.toLowerCase()))
  })

  it('has a registry whose ABI declares the queried events', async () => {
    const { mainnetAddressAllEvm, events } = read('erc8004-identity-events.json') as {
      readonly mainnetAddressAllEvm: string
      readonly events: readonly AbiEvent[]
    }
    const queries: LogQuery[] = []
    const chainLogs = {
      head: async () => ({ number: 10n, time: new Date(0) }),
      hashOf: async () => undefined,
      senderOf: async () => undefined,
      logs: async (query: LogQuery) => {
        queries.push(query)
        return []
      },
    }
    const fixture = await openCatalogFixture()
    const settings = { fromBlock: 0n, depth: 0n, ipfsGateway: 'http://gateway.test/' }
    await readRegistry({ ...fixture, ...settings, chainLogs })
    await fixture.close()
    const declared = ['Registered', 'URIUpdated'].map((name) =>
      toEventSelector(events.find((event) => event.name === name)!),
    )
    expect(queries[0]?.address).to.equal(mainnetAddressAllEvm)
    expect(queries[0]?.topics).to.deep.equal([declared])
  })
})
