import { expect } from 'chai'
import { usd } from '../../../../core/money.ts'
import { resolvePayments } from '../../../../core/payments/operations/resolve.ts'
import { callRpc } from '../../../../server/sandbox/rpc.ts'
import type { TestAgent } from '../../../support/hub.ts'
import { useHub } from '../../../support/suite.ts'
import { buyWeather, createAdmin } from './fixture.ts'

const PRICE = Number(usd('0.01'))
type Item = Readonly<Record<string, unknown>>

/** Jobs are off, so that payments stay pending until the test resolves them. */
describe('payments in the finance API', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet] } })
  let ada: TestAgent
  before(async () => {
    ada = await hub().agent(usd('5'))
    await ada.client.purchase(usd('5'))
    await buyWeather(hub(), ada.apiKey)
    await buyWeather(hub(), ada.apiKey, 'fault=failing')
    await buyWeather(hub(), ada.apiKey, 'fault=took')
  })

  const list = async (query = ''): Promise<Item[]> => {
    const { status, body } = await admin.ask(hub(), `payments?${query}`)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body['data'] as Item[]
  }
  const states = (items: readonly Item[]) =>
    items.map(({ direction, state }) => `${String(direction)} ${String(state)}`)

  it('are listed oldest first while pending, with deadline and next step', async () => {
    const items = await list()
    expect(states(items)).to.deep.equal(['in settled', 'out paid', 'out unresolved', 'out paid'])
    for (const { next_step, deadline, since, age_seconds, overdue, nonce } of items) {
      expect(next_step).to.be.a('string').that.includes(String(deadline))
      expect(Date.parse(String(deadline))).to.be.greaterThan(Date.parse(String(since)))
      expect(age_seconds).to.be.within(0, 30)
      expect(overdue).to.equal(false)
      expect(nonce).to.match(/^0x[0-9a-f]{64}$/)
    }
    const [bought, , unresolved, taken] = items
    expect(bought).to.include({
      purpose: 'credits',
      amount_microdollars: 5_000_000,
      counterparty: ada.address.toLowerCase(),
      host: null,
      key_id: null,
    })
    expect(unresolved).to.include({
      purpose: 'external',
      amount_microdollars: PRICE,
      counterparty: hub().sandbox!.wallets.seller.account.address,
      host: 'seller.test',
      key_id: ada.keyId,
      reason: 'upstream_error',
      transaction: null,
    })
    expect(taken)
      .to.have.property('transaction')
      .that.matches(/^0x[0-9a-f]{64}$/)
  })

  it('are filtered by direction and appear once across pages', async () => {
    expect(states(await list('direction=in'))).to.deep.equal(['in settled'])
    expect(await list('direction=out')).to.have.length(3)
    for (const state of ['open', 'all']) {
      const walked: Item[] = []
      let path: string | undefined = `payments?state=${state}&limit=1`
      while (path !== undefined) {
        const { body, headers } = await admin.ask(hub(), path)
        walked.push(...(body['data'] as Item[]))
        expect(headers['link'] !== undefined).to.equal(body['has_more'])
        path = body['has_more']
          ? `payments?state=${state}&limit=1&cursor=${String(body['next_cursor'])}`
          : undefined
      }
      const ids = (items: readonly Item[]) => items.map(({ id }) => id)
      expect(ids(walked)).to.deep.equal(ids(await list(`state=${state}`)))
      expect(walked).to.have.length(4)
    }
    expect((await list('state=all'))[0]).to.include({ state: 'paid', direction: 'out' })
  })

  it('are rejected for an invalid query', async () => {
    for (const query of ['state=lost', 'direction=up', 'limit=0', 'cursor=x']) {
      const { body } = await admin.ask(hub(), `payments?${query}`)
      expect(body, query).to.include({ status: 422, code: 'validation_failed' })
    }
  })

  it('are overdue long after their deadline, with advice', async () => {
    const [, , { id } = {}] = await list()
    const set = (sql: string) =>
      hub().database.admin.query(
        `UPDATE hub.payment_intent SET valid_before = ${sql}
        WHERE call = $1`,
        [id],
      )
    await set(`valid_before - interval '1 hour'`)
    const late = (await list()).filter(({ overdue }) => overdue)
    expect(late.map((item) => item['id'])).to.deep.equal([id])
    expect(late[0]!['next_step']).to.match(/This is overdue\. Check that the jobs run/)
    await set(`valid_before + interval '1 hour'`)
  })

  it('have no deadline once final, and say how to compensate for a lost delivery', async () => {
    await callRpc(hub().sandbox!.rpcUrl, 'evm_increaseTime', [120])
    await callRpc(hub().sandbox!.rpcUrl, 'anvil_mine', ['0x2'])
    await resolvePayments(hub().hub.paymentDeps, 0)
    expect(await list()).to.deep.equal([])
    const items = await list('state=all')
    expect(states(items)).to.deep.equal([
      'out confirmed',
      'out unused',
      'out confirmed',
      'in confirmed',
    ])
    expect(items.map(({ deadline }) => deadline)).to.deep.equal([null, null, null, null])
    const [taken, ...others] = items.map(({ next_step }) => next_step)
    expect(others).to.deep.equal([null, null, null])
    expect(taken).to.include('/finance/adjustments')
    const accounts = `from expenses:x402-loss to liabilities:agents:${ada.keyId}:credits.`
    expect(taken).to.include(accounts)
  })
})
