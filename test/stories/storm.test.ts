import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient, HubError, type HubResponse } from '../../core/client/index.ts'
import { sleep } from '../../core/clock.ts'
import { expireHolds } from '../../core/ledger/expire.ts'
import { type Micros, usd } from '../../core/money.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import { fund } from '../../server/sandbox/wallets.ts'
import { useHub } from '../support/suite.ts'
import { flawed, gift } from './failing-services.ts'
import { resolves } from './payments.ts'
import { result } from './table.ts'

const AGENTS = 8
const PRICE = usd('0.01')

/** All agents do everything at once while cleanup jobs run continuously. */
describe('story: everything at once', () => {
  const hub = useHub({ plugins: [flawed, gift], config: { jobs: true } })

  async function jobsUntil(done: () => boolean): Promise<void> {
    const { paymentDeps: ports, pool, ledger } = hub().hub
    while (!done()) {
      await Promise.all([resolvePayments(ports, 0), expireHolds(pool, ledger), sleep(5)])
    }
  }

  async function enter(usdc: Micros): Promise<HubClient> {
    const account = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, account.address, { usdc })
    return new HubClient({ baseUrl: hub().url, wallet: { account, sandbox: true } })
  }

  /** Runs one agent. Returns what it was charged by x402, in microdollars. */
  async function live(client: HubClient): Promise<bigint> {
    await insist(() => client.purchase(usd('5')))
    const outside = (fault: string) =>
      result(client.external({ url: `${hub().sandbox!.sellerUrl}/weather${fault}` }))
    const say = () => client.call('echo', '/say', { words: 'hi' })
    const fail = () => result(client.call('flawed', '/throws', {}))
    const [responses] = await Promise.all([
      Promise.all([...Array.from({ length: 5 }, say), client.call('gift', '/try', {})]),
      insist(() => client.purchase(usd('6'))),
      Promise.all(SELLERS.map(outside)),
      Promise.all([fail(), fail()]),
    ])
    return responses.reduce((sum, { charged }) => sum + charged, 0n)
  }

  it('leaves nothing unpaid or paid twice, and a ledger equal to the chain', async () => {
    const { hub: open, sandbox } = hub()
    const { chain, treasury, spend } = sandbox!.money
    const onChain = () => Promise.all([chain.balanceOf(treasury), chain.balanceOf(spend.address)])
    const [received, owned] = await onChain()
    const agents: HubClient[] = []
    for (let i = 0; i < AGENTS; i++) agents.push((await (await enter(usd('11'))).register()).client)
    const passing = await enter(usd('1'))
    let over = false
    const jobs = jobsUntil(() => over)
    const pay = () => passing.call('echo', '/say', { words: 'hi' }, { payUpTo: PRICE })
    const [charged] = await Promise.all([
      Promise.all(agents.map(live)),
      Promise.all(Array.from({ length: 10 }, () => insist(pay))),
    ])
    over = true
    await jobs
    await callRpc(sandbox!.rpcUrl, 'evm_increaseTime', [120])
    await callRpc(sandbox!.rpcUrl, 'evm_mine', [])
    await resolves({ hub: hub(), actors: new Map(), enter: never, actor: never }, 'hub', '')

    const { rows: bought } = await open.pool.query<{ state: string; sum: string }>(
      'SELECT state, sum(amount)::text AS sum FROM hub.payment_intent GROUP BY state',
    )
    const outside = BigInt(bought.find(({ state }) => state === 'confirmed')?.sum ?? 0)
    expect(bought.filter(({ state }) => !['confirmed', 'unused'].includes(state))).to.deep.equal([])
    let left = 0n
    for (const client of agents) {
      const { body } = await client.send('/v1/credits/balance')
      expect(body['reserved_microdollars']).to.equal(0)
      left += BigInt(String(body['balance_microdollars']))
    }
    const sold = usd('11') * BigInt(AGENTS)
    expect(left).to.equal(sold - outside - charged.reduce((sum, each) => sum + each, 0n))
    const [receives, owns] = await onChain()
    expect(receives - received).to.equal(sold + usd('0.001'))
    expect(owned - owns).to.equal(outside)
    expect(outside > usd('0.2'), `${outside} paid outside`).to.equal(true)
    expect(await open.ledger.balance('assets:usdc:base:treasury')).to.equal(-receives)
    for (const code of ['assets:usdc:base:in-transit', 'liabilities:x402-out:in-transit', HOLDS]) {
      expect(await open.ledger.balance(code), code).to.equal(0n)
    }
  })
})

const HOLDS = 'liabilities:holds'
const SELLERS = ['', '?fault=v1', '?fault=silent', '?fault=lost', '?fault=late', '?fault=free']

/** Repeats refused payments: under load the sandbox chain cannot verify every one. */
async function insist(pay: () => Promise<HubResponse>): Promise<HubResponse> {
  for (let tries = 0; tries < 5; tries++) {
    try {
      return await pay()
    } catch (error) {
      if (!(error instanceof HubError) || error.code !== 'payment_invalid') throw error
    }
  }
  return pay()
}

const never = (): never => {
  throw new Error('nobody is on this stage')
}
