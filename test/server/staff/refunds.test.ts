import { usd } from 'agenthub/plugin'
import { expect } from 'chai'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../../core/client/index.ts'
import { systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { takeSnapshots } from '../../../core/ledger/history/snapshot.ts'
import { resolvePayments } from '../../../core/payments/operations/resolve.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, payFor } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestAgent } from '../../support/hub.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createStaff, dataOf, expectRefused, type Json } from './fixture.ts'
import { EARNINGS, PRICE, works } from './paid-service.ts'

const COMMISSION = PRICE / 10n

describe('refunds by finance', () => {
  const admin = createAdmin()
  const hub = useHub({
    plugins: [works],
    config: { admins: [admin.wallet], soloAdjustmentMax: usd('0.025') },
  })
  let ada: TestAgent
  let fay: Person
  let gus: Person
  let calls: string[]
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('5'))
    fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
    gus = await createStaff(hub(), admin, 'gus@house.example', 'finance')
    for (let i = 0; i < 3; i++) await ada.client.call('echo', '/say', { words: 'hi' })
    await takeSnapshots(hub().hub.pool)
    const history = dataOf(await ask(hub().url, '/v1/credits/history', { key: ada.apiKey }))
    calls = history.flatMap(({ event, id }) => (event === 'call.settled' ? [String(id)] : []))
    expect(calls).to.have.length(3)
  })

  const refund = (call: string, body: Json = {}, by = fay): Promise<ApiResponse> =>
    by.ask(`/v1/finance/calls/${call}/refund`, { body: { reason: 'a test', ...body } })
  const balance = (account: string): Promise<bigint> => hub().hub.ledger.balance(account)
  const trail = async (id: string) => (await fay.ask(`/v1/finance/entries/${id}`)).body

  it('return credits once, and a second one says what was refunded when', async () => {
    const [call = ''] = calls
    const before = await hub().balance(ada.keyId)
    expect((await refund(call, { amount_microdollars: 40 })).status).to.equal(200)
    for (const amount_microdollars of [40, 41, 1]) {
      const again = await refund(call, { amount_microdollars })
      expectRefused(again, 409, 'already_refunded')
      expect(again.body['detail']).to.include('$0.00004 of $0.0001').and.to.include(fay.email)
      const day = systemClock.now().toISOString().slice(0, 10)
      expect(String(again.body['refunded_at']).slice(0, 10)).to.equal(day)
      expect(again.body['refunded_microdollars']).to.equal(40)
    }
    expect(await hub().balance(ada.keyId)).to.equal(before + 40n)
    expect(((await trail(call))['entries'] as Json[]).at(-1)).to.include({ event: 'call.reversed' })
  })

  it('leave finance and the caller with the same state of a call', async () => {
    const fields = ['state', 'charged_microdollars', 'refunded_microdollars'] as const
    const pick = (json: Json) => fields.map((name) => json[name])
    const states: unknown[] = []
    for (const id of calls) {
      const own = await ask(hub().url, `/v1/calls/${id}`, { key: ada.apiKey })
      const shown = pick((await trail(id))['call'] as Json)
      expect(shown).to.deep.equal(pick(own.body))
      states.push(shown)
    }
    expect(states).to.deep.equal([
      ['refunded', 60, 40],
      ['charged', 100, 0],
      ['charged', 100, 0],
    ])
  })

  describe('of a call paid per request by x402', () => {
    let eve: PrivateKeyAccount
    beforeEach(async () => {
      eve = privateKeyToAccount(generatePrivateKey())
      await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('1') })
    })
    const resolve = () => resolvePayments(hub().hub.paymentDeps, 0)
    const sold = async (): Promise<string> => {
      const send = (headers = {}) => ask(hub().url, '/proxy/works/do', { body: {}, headers })
      const payment = await payFor(eve, hub().url, await send())
      expect((await send({ 'payment-signature': payment })).status).to.equal(200)
      const { rows } = await hub().database.admin.query<{ entry: string }>(
        'SELECT id AS entry FROM hub.payment_claim WHERE payer = $1 ORDER BY id DESC LIMIT 1',
        [eve.address.toLowerCase()],
      )
      return rows[0]!.entry
    }
    const final = async (id: string): Promise<void> =>
      eventually(async () => {
        await resolve()
        const { rows } = await hub().database.admin.query(
          `SELECT FROM hub.payment_claim WHERE id = $1 AND state = 'confirmed'`,
          [id],
        )
        return rows.length === 1
      })

    it('become credits of the wallet that paid, once its payment is final', async () => {
      const id = await sold()
      expectRefused(await refund(id), 409, 'not_booked')
      await final(id)
      const [earned, commission] = [await balance(EARNINGS), await balance('income:commission')]
      const call = String(((await trail(id))['call'] as Json)['id'])
      expect((await refund(call)).status).to.equal(200)
      expect(await balance(EARNINGS)).to.equal(earned - PRICE + COMMISSION)
      expect(await balance('income:commission')).to.equal(commission - COMMISSION)
      expect(await balance('liabilities:suspense')).to.equal(PRICE)
      for (const same of [id, call]) expectRefused(await refund(same), 409, 'already_refunded')
      const shown = (await trail(call))['call'] as Json
      expect(shown).to.include({ state: 'refunded', charged_microdollars: 0 })
      const wallet = { account: eve, sandbox: true }
      const { keyId } = await new HubClient({ baseUrl: hub().url, wallet }).register()
      await resolve()
      expect(await hub().balance(keyId)).to.equal(PRICE)
      expect(await balance('liabilities:suspense')).to.equal(0n)
    })

    it('make the provider owe what it was paid out already, above the limit by two', async () => {
      const id = await sold()
      await final(id)
      const { ledger } = hub().hub
      const owner = await ledger.account(EARNINGS)
      const amount = await ledger.balance(EARNINGS)
      const payout = { type: 'payout.started', earnings: EARNINGS, amount } as const
      await ledger.post(payout, { owner, id: uuidv7(systemClock.now().getTime()) })
      const owed = await balance('assets:receivable:providers')
      const half = { amount_microdollars: Number(PRICE / 2n) }
      expect((await refund(id, { amount_microdollars: Number(PRICE) + 1 })).status).to.equal(409)
      expect((await refund(id, half)).status).to.equal(200)
      expect(await balance('assets:receivable:providers')).to.equal(
        owed - (PRICE - COMMISSION) / 2n,
      )
      const other = await sold()
      await final(other)
      const large = await refund(other)
      expect([large.status, large.body['state']]).to.deep.equal([202, 'proposed'])
      const path = `/v1/finance/proposals/${String(large.body['id'])}/confirm`
      expect((await gus.ask(path, { body: { reason: 'a test' } })).status).to.equal(200)
      expectRefused(await refund(other), 409, 'already_refunded')
    })
  })
})
