import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import type { ApiResponse } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useAttackFixture } from './fixture.ts'
import { entry, PRICE, type Sale, THIEF } from './sellers.ts'

const CREDITS = usd('1')
const CAPS = { principal: usd('0.10'), seller: usd('0.06') }
const HOSTS = Array.from({ length: 8 }, (_, n) => `silent${n}.test`)
const ALIAS = `${HOSTS[0]}.`
const silent = { paid: ({ respond }: Sale) => respond(500) }

/** A seller that takes signatures and never settles must not lock the money of all others. */
describe('A212 attacks by sellers that never settle end at the caps of unresolved payments', () => {
  const fixture = useAttackFixture({ hosts: [...HOSTS, ALIAS], config: { unresolved: CAPS } })
  let ada: TestAgent
  beforeEach(async () => {
    ada = await fixture().createAgent(CREDITS)
  })
  const url = (host: string, n = 0) => `http://${host}/sections/${n}`
  /** Asserts that `open` payments were signed and the others refused by this cap. */
  function expectOpen(responses: readonly ApiResponse[], open: number, scope: string): void {
    const refused = responses.filter(({ status }) => status === 429)
    for (const { body, headers } of refused) {
      expect(body).to.include({ code: 'unresolved_cap_reached', scope, charged_microdollars: 0 })
      expect(Number(headers['retry-after'])).to.be.above(0)
    }
    expect(responses.length - refused.length, 'signed').to.equal(open)
    expect(fixture().sellers.payments, 'signatures sent').to.have.length(open)
  }
  const counted = async () => {
    const { rows } = await fixture().hub.hub.pool.query<{ amount: bigint }>(
      'SELECT DISTINCT amount FROM hub.unresolved WHERE amount > 0',
    )
    return rows.map(({ amount }) => amount)
  }

  it('of one host, concurrently by many keys', async () => {
    fixture().sellers.serve(HOSTS[0]!, silent)
    const agents = await Promise.all(
      Array.from({ length: 8 }, () => fixture().createAgent(CREDITS)),
    )
    const responses = await Promise.all(
      agents.map((agent, n) => {
        return fixture().buy(agent, url(HOSTS[0]!, n))
      }),
    )
    const refused = responses.filter(({ status }) => status === 429)
    const scopes = new Set(refused.map(({ body }) => body['scope']))
    expect([...scopes]).to.deep.equal(['pay_to'])
    expectOpen(responses, Number(CAPS.seller / PRICE), 'pay_to')
    await fixture().advance(91)
    await fixture().resolveAll()
    expect(await counted(), 'given back').to.deep.equal([])
    fixture().sellers.serve(HOSTS[0]!)
    expect(await fixture().buy(ada, url(HOSTS[0]!))).to.have.property('status', 200)
    expect(await counted(), 'a paid one is not unresolved').to.deep.equal([])
  })

  it('of one payee, through many hosts', async () => {
    for (const host of HOSTS) {
      fixture().sellers.serve(host, { ...silent, accepts: [entry({ payTo: THIEF })] })
    }
    const agents = await Promise.all(HOSTS.map(() => fixture().createAgent(CREDITS)))
    const responses = await Promise.all(
      agents.map((agent, n) => fixture().buy(agent, url(HOSTS[n]!, 100))),
    )
    expectOpen(responses, Number(CAPS.seller / PRICE), 'pay_to')
  })

  it('of one host under two spellings, with changing payees', async () => {
    const agents = await Promise.all(HOSTS.map(() => fixture().createAgent(CREDITS)))
    const responses: ApiResponse[] = []
    for (const [n, agent] of agents.entries()) {
      const host = n % 2 === 0 ? HOSTS[0]! : ALIAS
      const payTo = `0x${String(n + 101).padStart(40, '0')}` as const
      fixture().sellers.serve(host, { ...silent, accepts: [entry({ payTo })] })
      responses.push(await fixture().buy(agent, url(host, 300 + n)))
    }
    expectOpen(responses, Number(CAPS.seller / PRICE), 'host')
  })

  it('of one principal, to many sellers', async () => {
    const payees = HOSTS.map((_, n) => `0x${String(n + 1).padStart(40, '0')}` as const)
    for (const [n, host] of HOSTS.entries()) {
      fixture().sellers.serve(host, { ...silent, accepts: [entry({ payTo: payees[n] })] })
    }
    const responses = await Promise.all(HOSTS.map((host) => fixture().buy(ada, url(host, 200))))
    expectOpen(responses, Number(CAPS.principal / PRICE), 'principal')
  })
})
