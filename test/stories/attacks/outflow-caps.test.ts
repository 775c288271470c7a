import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import type { ApiResponse } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useAttackFixture } from './fixture.ts'
import { entry, PRICE } from './sellers.ts'

const CAPS = { call: usd('1'), key: usd('0.05'), host: usd('0.10'), platform: usd('0.35') }
const CREDITS = usd('1')
/** Each test has its own sellers, because their payments count for the day. */
const HOSTS = Array.from({ length: 20 }, (_, n) => `seller${n}.test`)
const [ONE, FEW, LATE, CROWDED] = [HOSTS[0]!, HOSTS.slice(1, 8), HOSTS[8]!, HOSTS[9]!]
const MANY = HOSTS.slice(10)

/** Attack budget_split: many small payments must not exceed the daily caps. */
describe('attacks by many small payments stop at the daily cap', () => {
  const fixture = useAttackFixture({ hosts: HOSTS, config: { outflow: CAPS } })
  let ada: TestAgent
  beforeEach(async () => {
    ada = await fixture().createAgent(CREDITS)
    for (const host of HOSTS) fixture().sellers.serve(host)
  })
  const url = (host: string, n = 0): string => `http://${host}/sections/${n}`
  /** Asserts that `paid` calls were paid and the others refused by this cap before signing. */
  function expectPaid(responses: readonly ApiResponse[], paid: number, scope: string): void {
    const refused = responses.filter(({ status }) => status !== 200)
    expect(responses.length - refused.length, 'paid').to.equal(paid)
    for (const { status, body } of refused) {
      expect([status, body['code']]).to.deep.equal([429, 'outflow_cap_reached'])
      expect(body).to.include({ scope, charged_microdollars: 0 })
    }
    expect(fixture().sellers.payments, 'signatures sent').to.have.length(paid)
  }
  const spent = (agent: TestAgent, amount: bigint, signed: number) =>
    fixture().expectMoney(agent, { credits: CREDITS - amount, held: 0n, signed })

  it('of one key, one after another', async () => {
    const responses = []
    for (let n = 0; n < 6; n++) responses.push(await fixture().buy(ada, url(ONE, n)))
    expectPaid(responses, 2, 'key')
    await spent(ada, 2n * PRICE, 2)
    fixture().sellers.serve(ONE, { accepts: [entry({ amount: '10001' })] })
    expect((await fixture().buy(ada, url(ONE))).status, 'one unit too much').to.equal(429)
    fixture().sellers.serve(ONE, { accepts: [entry({ amount: '10000' })] })
    expect((await fixture().buy(ada, url(ONE))).status, 'exactly the cap').to.equal(200)
    await spent(ada, CAPS.key, 3)
  })

  it('of one key, concurrently to many sellers', async () => {
    const responses = await Promise.all(
      [...FEW, ...FEW].map((host) => fixture().buy(ada, url(host))),
    )
    expectPaid(responses, 2, 'key')
    await spent(ada, 2n * PRICE, 2)
  })

  it('of one host, by many keys', async () => {
    const agents = await Promise.all(
      Array.from({ length: 8 }, () => fixture().createAgent(CREDITS)),
    )
    const responses = await Promise.all(agents.map((agent) => fixture().buy(agent, url(CROWDED))))
    expectPaid(responses, 5, 'host')
    await fixture().expectMoney(ada, { paid: CAPS.host })
  })

  it('of one key, which does not count payments that were never taken', async () => {
    fixture().sellers.serve(LATE, { paid: ({ respond }) => respond(500) })
    for (let n = 0; n < 3; n++) await fixture().buy(ada, url(LATE))
    await fixture().expectMoney(ada, { credits: CREDITS - 2n * PRICE, held: 2n * PRICE, signed: 2 })
    await fixture().advance(91)
    await fixture().resolveAll()
    await spent(ada, 0n, 2)
    fixture().sellers.serve(LATE)
    expect(await fixture().buy(ada, url(LATE))).to.have.property('status', 200)
    await spent(ada, PRICE, 3)
  })

  it('of the platform, by many keys to many sellers', async () => {
    const { rows } = await fixture().hub.hub.pool.query<{ amount: bigint }>(
      `SELECT amount FROM hub.outflow WHERE scope = 'platform'`,
    )
    const left = CAPS.platform - rows.reduce((sum, { amount }) => sum + amount, 0n)
    const fit = Number(left / PRICE)
    const agents = await Promise.all(
      Array.from({ length: fit + 3 }, () => fixture().createAgent(CREDITS)),
    )
    const responses = await Promise.all(
      agents.map((agent, n) => fixture().buy(agent, url(MANY[n]!))),
    )
    expectPaid(responses, fit, 'platform')
    await fixture().expectMoney(ada, { paid: BigInt(fit) * PRICE })
  })
})
