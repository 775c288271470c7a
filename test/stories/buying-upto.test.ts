import { PERMIT2_ADDRESS } from '@x402/evm'
import { expect } from 'chai'
import { createPublicClient, http, parseAbi } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { findTrail } from '../../core/finance/journal.ts'
import { usd } from '../../core/money.ts'
import { USDC_BASE } from '../../core/payments/chain/asset.ts'
import { resolvePayments } from '../../core/payments/operations/resolve.ts'
import { reconcile } from '../../core/reconciliation/reconcile.ts'
import { callRpc } from '../../server/sandbox/rpc.ts'
import { ask } from '../support/ask.ts'
import { eventually } from '../support/eventually.ts'
import type { TestAgent } from '../support/hub.ts'
import { useHub } from '../support/suite.ts'
import { startUptoSeller, type UptoSeller } from './upto-seller.ts'

const MAX = usd('0.01')
const HOST = 'upto.test'
const ALLOWANCE = parseAbi(['function allowance(address, address) view returns (uint256)'])

describe('a purchase from a seller at a metered price (scheme upto)', () => {
  const payTo = privateKeyToAccount(generatePrivateKey()).address
  let seller: UptoSeller
  let ada: TestAgent
  const hub = useHub(async () => {
    seller = await startUptoSeller({ payTo, max: MAX })
    return { config: { sandboxHosts: new Map([[HOST, seller.port]]) } }
  })
  before(() => seller.open(hub().sandbox!.rpcUrl))
  after(() => seller.close())
  beforeEach(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
    seller.payments.length = 0
    seller.forged = {}
  })
  const buy = (body: object, order: object = {}) =>
    ask(hub().url, '/proxy/external', {
      key: ada.apiKey,
      body: { url: `http://${HOST}/work`, method: 'POST', body, ...order },
    })
  const spent = async () => usd('1') - (await hub().balance(ada.keyId))
  const deps = () => hub().hub.paymentDeps
  const received = () => deps().chain.balanceOf(payTo)
  const resolve = () => eventually(async () => (await resolvePayments(deps(), 0)) === 0)
  const intentOf = async (id: unknown) => {
    const { rows } = await hub().hub.pool.query<Record<string, unknown>>(
      'SELECT state, amount, authorized FROM hub.payment_intent WHERE call = $1',
      [String(id)],
    )
    return rows[0]
  }
  const counted = async () => {
    const { rows } = await hub().hub.pool.query<{ outflow: bigint; unresolved: bigint }>(
      `SELECT coalesce((SELECT sum(amount) FROM hub.outflow WHERE scope = 'platform'), 0)::bigint
         AS outflow, coalesce((SELECT sum(amount) FROM hub.unresolved), 0)::bigint AS unresolved`,
    )
    return rows[0]!
  }

  it('costs what the chain shows to be taken, and releases the rest', async () => {
    const before = [await received(), await counted()] as const
    for (const usage of [3_000, 10_000, 1]) {
      const sum = await spent()
      const { status, headers, body, text } = await buy({ usage })
      expect([status, body], text).to.deep.equal([200, { used: usage }])
      expect(headers).to.include({ 'x-charged-microdollars': String(usage) })
      expect((await spent()) - sum).to.equal(BigInt(usage))
      const id = headers['x-call-id']
      const amounts = { amount: BigInt(usage), authorized: MAX }
      expect(await intentOf(id)).to.deep.equal({ state: 'paid', ...amounts })
      await resolve()
      expect(await intentOf(id)).to.deep.equal({ state: 'confirmed', ...amounts })
    }
    expect((await received()) - before[0]).to.equal(13_001n)
    const { outflow, unresolved } = await counted()
    expect([outflow - before[1].outflow, unresolved]).to.deep.equal([13_001n, 0n])
  })

  it('needs one approval of Permit2, which the gas wallet sends', async () => {
    await buy({ usage: 5 })
    const { rpcUrl, money } = hub().sandbox!
    const client = createPublicClient({ transport: http(rpcUrl) })
    const { address } = money.spend
    const allowance = await client.readContract({
      address: USDC_BASE.address,
      abi: ALLOWANCE,
      functionName: 'allowance',
      args: [address, PERMIT2_ADDRESS],
    })
    expect(allowance > 10n ** 30n).to.equal(true)
    expect(await client.getTransactionCount({ address })).to.equal(0)
    expect(await client.getBalance({ address })).to.equal(0n)
  })

  it('is limited by the maximum of its caller, before anything is signed', async () => {
    const { status, body } = await buy({ usage: 5 }, { max_price_microdollars: Number(MAX) - 1 })
    expect([status, body['code']]).to.deep.equal([402, 'price_exceeds_max'])
    expect(seller.payments).to.deep.equal([])
    expect(await spent()).to.equal(0n)
  })

  it('charges concurrent calls what each of them used', async () => {
    const usages = [10, 200, 3_000, 40, 500]
    const responses = await Promise.all(usages.map((usage) => buy({ usage })))
    const charged = responses.map(({ headers }) => headers['x-charged-microdollars'])
    expect(charged).to.deep.equal(usages.map(String))
    expect(await spent()).to.equal(3_750n)
    await resolve()
  })

  it('A306 costs what was taken, whatever the receipt says', async () => {
    const other = await buy({ usage: 60 })
    const transaction = other.headers['x-upstream-transaction']
    for (const forged of [
      { amount: '1' },
      { amount: '10000' },
      { amount: '99999999' },
      { transaction },
      { transaction: `0x${'1'.repeat(64)}` },
      { transaction: '' },
      { success: false },
    ]) {
      seller.forged = forged
      const sum = await spent()
      const { status, headers, text } = await buy({ usage: 500 })
      expect(status, text).to.equal(200)
      expect(headers, JSON.stringify(forged)).to.include({ 'x-charged-microdollars': '500' })
      expect((await spent()) - sum).to.equal(500n)
    }
    await resolve()
  })

  it('is explained to the reconciliation, whatever was taken', async () => {
    const { headers } = await buy({ usage: 77 })
    const { pool } = hub().hub
    const { chain, finality } = deps()
    const { treasury, spend } = hub().sandbox!.money
    const wallets = { treasury, spend: spend.address }
    const set = (change: string) =>
      hub().database.admin.query(`UPDATE hub.payment_intent SET ${change} WHERE call = $1`, [
        headers['x-call-id'],
      ])
    await set(`state = 'unresolved', amount = authorized`) // as before its outcome is known
    const results = await reconcile({ pool, chain, finality, wallets })
    const spending = results.find(({ wallet }) => wallet === 'spend')
    expect(spending?.exceptions).to.deep.equal([])
    await set(`state = 'paid', amount = 77`)
    await resolve()
    const { rows } = await pool.query('SELECT paused FROM hub.outgoing_state')
    expect(rows).to.deep.equal([{ paused: false }])
  })

  it('cannot be recorded with another amount than what was taken', async () => {
    const { headers } = await buy({ usage: 20 })
    const conclude = (taken: bigint) =>
      hub()
        .hub.pool.query('SELECT hub.conclude_payment($1, $2, NULL, NULL, NULL, $3)', [
          String(headers['x-call-id']),
          'confirmed',
          taken,
        ])
        .then(() => '', String)
    expect(await conclude(21n)).to.contain('is final')
    expect(await conclude(19n)).to.contain('is final')
    await resolve()
  })

  it('stays what its transaction took, whatever a later search would find', async () => {
    const { headers } = await buy({ usage: 10 })
    const { chain } = deps()
    const other = { outcome: 'used', tx: `0x${'1'.repeat(64)}`, block: 1n, value: 90n }
    const searches: Pick<typeof chain, 'permitOutcome'> = {
      permitOutcome: async () => other as Awaited<ReturnType<typeof chain.permitOutcome>>,
    }
    const mistaken = { ...deps(), chain: Object.assign(Object.create(chain), searches) }
    await eventually(async () => (await resolvePayments(mistaken, 0)) === 0)
    expect(await intentOf(headers['x-call-id'])).to.include({ state: 'confirmed', amount: 10n })
    expect(await spent()).to.equal(10n)
  })

  it('never costs more than it was charged if the chain replaces its settlement', async () => {
    const { rpcUrl, money } = hub().sandbox!
    const { pool } = hub().hub
    await buy({ usage: 1 }) // Permit2 is approved
    for (const { taken, cost } of [
      { taken: 300, cost: 300n },
      { taken: 800, cost: 0n },
    ]) {
      await resolve()
      const before = await callRpc(rpcUrl, 'evm_snapshot', [])
      const sum = await spent()
      const { headers } = await buy({ usage: 500 })
      expect(headers).to.include({ 'x-charged-microdollars': '500' })
      await callRpc(rpcUrl, 'evm_revert', [before])
      await seller.settleAgain(rpcUrl, seller.payments.at(-1)!, taken)
      await resolve()
      expect(await intentOf(headers['x-call-id'])).to.include({ state: 'confirmed' })
      expect((await spent()) - sum).to.equal(cost)
      const id = String(headers['x-call-id'])
      const { body } = await ask(hub().url, `/v1/calls/${id}`, { key: ada.apiKey })
      const refunded = 500n - cost
      expect(body).to.include({
        state: 'refunded',
        charged_microdollars: Number(cost),
        refunded_microdollars: Number(refunded),
      })
      expect((await findTrail(pool, id)).call).to.include({ charged: cost, refunded })
    }
    const { chain, finality } = deps()
    const wallets = { treasury: money.treasury, spend: money.spend.address }
    const results = await reconcile({ pool, chain, finality, wallets })
    const spending = results.find(({ wallet }) => wallet === 'spend')
    expect(spending?.exceptions).to.deep.equal([])
  })

  it('holds the maximum while a failed seller may take it, and then releases it', async () => {
    const before = await counted()
    const { status, headers, body } = await buy({ usage: 9, fail: true })
    expect([status, body['charged_microdollars']]).to.deep.equal([502, 0])
    const id = headers['x-call-id']
    expect(await intentOf(id)).to.include({ state: 'unresolved', amount: MAX })
    const { rpcUrl } = hub().sandbox!
    await callRpc(rpcUrl, 'evm_increaseTime', [120])
    await callRpc(rpcUrl, 'evm_mine', [])
    await resolve()
    expect(await intentOf(id)).to.include({ state: 'unused' })
    expect(await spent()).to.equal(0n)
    expect(await counted()).to.deep.equal(before)
  })
})
