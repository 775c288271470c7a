import { expect } from 'chai'
import { dnsResolver } from '../../core/egress/resolver.ts'
import { usd } from '../../core/money.ts'
import { callTool } from '../server/mcp/ask.ts'
import { openSecondHub } from '../server/rest/finance/fixture.ts'
import { ask } from '../support/ask.ts'
import type { TestAgent } from '../support/hub.ts'
import { openNameServer } from '../support/name-server.ts'
import { useHub } from '../support/suite.ts'

const CREDITS = usd('1')
const SELLER = 'shop.test'
const URL = `http://${SELLER}/weather`
const FAILURES = {
  'never responds': 'none at all',
  fails: 'a failure',
  'sends garbage': 'garbage',
} as const

describe('a name server that', () => {
  let names: Awaited<ReturnType<typeof openNameServer>>
  let second: Awaited<ReturnType<typeof openSecondHub>>
  let agent: TestAgent
  after(async () => {
    await second?.close() // before the first hub, whose database it uses
    names.close()
  })
  const hub = useHub()

  before(async () => {
    names = await openNameServer()
    const resolver = dnsResolver([names.url])
    second = await openSecondHub(hub(), { egress: { resolver } })
    agent = await hub().agent()
    await hub().credit(agent.keyId, CREDITS)
  })
  /** Buys at each entry point, and returns the bodies of the problems. */
  const buy = async () => {
    const { url } = second
    const { apiKey: key } = agent
    const tool = { url: URL, max_price_usd: '0.01' }
    const [rest, mcp] = await Promise.all([
      ask(url, '/proxy/external', { key, body: { url: URL } }),
      callTool(second, key, 'hub_call_external', tool),
    ])
    return [
      { ...rest.body, error: rest.body['code'], advice: rest.body['advice'] },
      { ...mcp.data, advice: mcp.data['next'] },
    ] as readonly Record<string, unknown>[]
  }

  for (const [what, failure] of Object.entries(FAILURES)) {
    it(`${what} costs nothing, invites to try again, and is forgotten once it works`, async () => {
      names.addresses.set(SELLER, failure)
      for (const response of await buy()) {
        expect(response['error']).to.be.oneOf(['upstream_unreachable', 'upstream_timeout'])
        expect(response).to.include({ retryable: true })
        expect(response['advice']).to.match(/nothing was paid|you were not charged/i)
      }
      names.addresses.set(SELLER, ['10.0.0.1'])
      for (const { error } of await buy()) expect(error).to.equal('destination_not_allowed')
      const { rows } = await hub().database.pool.query('SELECT FROM hub.payment_intent')
      expect(rows).to.deep.equal([])
      expect(await hub().balance(agent.keyId)).to.equal(CREDITS)
    })
  }
})
