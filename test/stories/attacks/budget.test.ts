import { expect } from 'chai'
import { usd } from '../../../core/money.ts'
import type { Told } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import { entry, PRICE } from './sellers.ts'
import { useStage } from './stage.ts'

const CAPS = { call: usd('1'), key: usd('0.05'), host: usd('0.10'), platform: usd('0.35') }
const CREDITS = usd('1')
/** Each test has sellers of its own, since what they got counts for the day. */
const HOSTS = Array.from({ length: 20 }, (_, n) => `seller${n}.test`)
const [ONE, FEW, LATE, CROWDED] = [HOSTS[0]!, HOSTS.slice(1, 8), HOSTS[8]!, HOSTS[9]!]
const MANY = HOSTS.slice(10)

/** budget_split: many payments, each of them harmless, add up to no more than the caps of a day. */
describe('attacks by many small payments', () => {
  const stage = useStage({ hosts: HOSTS, config: { outflow: CAPS } })
  let ada: TestAgent
  beforeEach(async () => {
    ada = await stage().agent(CREDITS)
    for (const host of HOSTS) stage().sellers.at(host)
  })
  const url = (host: string, n = 0): string => `http://${host}/sections/${n}`
  /** So many were paid; the others were refused for this cap, before anything was signed. */
  function expectPaid(told: readonly Told[], paid: number, scope: string): void {
    const refused = told.filter(({ status }) => status !== 200)
    expect(told.length - refused.length, 'paid').to.equal(paid)
    for (const { status, body } of refused) {
      expect([status, body['code']]).to.deep.equal([429, 'outflow_cap_reached'])
      expect(body).to.include({ scope, charged_microdollars: 0 })
    }
    expect(stage().sellers.payments, 'signatures that left').to.have.length(paid)
  }
  const spent = (agent: TestAgent, amount: bigint, signed: number) =>
    stage().expects(agent, { credits: CREDITS - amount, held: 0n, signed })

  it('of one key, one after the other', async () => {
    const told = []
    for (let n = 0; n < 6; n++) told.push(await stage().buys(ada, url(ONE, n)))
    expectPaid(told, 2, 'key')
    await spent(ada, 2n * PRICE, 2)
    stage().sellers.at(ONE, { accepts: [entry({ amount: '10001' })] })
    expect((await stage().buys(ada, url(ONE))).status, 'a unit too much').to.equal(429)
    stage().sellers.at(ONE, { accepts: [entry({ amount: '10000' })] })
    expect((await stage().buys(ada, url(ONE))).status, 'all of the cap').to.equal(200)
    await spent(ada, CAPS.key, 3)
  })

  it('of one key at once, to as many sellers', async () => {
    const told = await Promise.all([...FEW, ...FEW].map((host) => stage().buys(ada, url(host))))
    expectPaid(told, 2, 'key')
    await spent(ada, 2n * PRICE, 2)
  })

  it('to one seller, by as many keys', async () => {
    const agents = await Promise.all(Array.from({ length: 8 }, () => stage().agent(CREDITS)))
    const told = await Promise.all(agents.map((agent) => stage().buys(agent, url(CROWDED))))
    expectPaid(told, 5, 'host')
    await stage().expects(ada, { paid: CAPS.host })
  })

  it('of which the one that was never taken leaves the caps as they were', async () => {
    stage().sellers.at(LATE, { paid: ({ says }) => says(500) })
    for (let n = 0; n < 3; n++) await stage().buys(ada, url(LATE))
    await stage().expects(ada, { credits: CREDITS - 2n * PRICE, held: 2n * PRICE, signed: 2 })
    await stage().passes(91)
    await stage().resolves()
    await spent(ada, 0n, 2)
    stage().sellers.at(LATE)
    expect(await stage().buys(ada, url(LATE))).to.have.property('status', 200)
    await spent(ada, PRICE, 3)
  })

  it('by many keys to many sellers', async () => {
    const { rows } = await stage().hub.hub.pool.query<{ amount: bigint }>(
      `SELECT amount FROM hub.outflow WHERE scope = 'platform'`,
    )
    const left = CAPS.platform - rows.reduce((sum, { amount }) => sum + amount, 0n)
    const fit = Number(left / PRICE)
    const agents = await Promise.all(Array.from({ length: fit + 3 }, () => stage().agent(CREDITS)))
    const told = await Promise.all(agents.map((agent, n) => stage().buys(agent, url(MANY[n]!))))
    expectPaid(told, fit, 'platform')
    await stage().expects(ada, { paid: BigInt(fit) * PRICE })
  })
})
