import { expect } from 'chai'
import { monthName, monthStart, systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { exportLedger } from '../../../core/ledger/export/writer.ts'
import { closePeriod } from '../../../core/ledger/history/period.ts'
import { usd } from '../../../core/money.ts'
import { ledgerCommand } from '../../../server/commands/ledger/index.ts'
import type { ApiResponse } from '../../support/ask.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createEth } from './debts.ts'
import { createStaff, expectRefused, type Json } from './fixture.ts'

const reason = 'a test'
const VALUE = 'assets:eth:base:value'

describe('the value of ETH', () => {
  const admin = createAdmin()
  const hub = useHub({
    config: { admins: [admin.wallet], soloAdjustmentMax: usd('200') },
  })
  const from = monthStart(systemClock.now(), -1)
  const month = monthName(from)
  let fay: Person
  let gus: Person
  before(async () => {
    fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
    gus = await createStaff(hub(), admin, 'gus@house.example', 'finance')
    const { ledger } = hub().hub
    const owner = await ledger.account('assets:eth:base:gas')
    await createEth(hub(), 50_000_000n)
    const effectiveAt = new Date(from.getTime() + 86_400_000)
    const paid = { type: 'gas.paid', gwei: 10_000_000n, cost: usd('30') } as const
    await ledger.post(paid, { owner, id: uuidv7(effectiveAt.getTime()), effectiveAt })
  })

  const revalue = (price: bigint, body: Json = {}, by = fay): Promise<ApiResponse> =>
    by.ask('/v1/finance/revaluations', {
      body: {
        month,
        price_microdollars: Number(price),
        source: 'Exchange, 23:59',
        reason,
        ...body,
      },
    })
  const balances = async (): Promise<readonly bigint[]> => {
    const names = [VALUE, 'equity:contributed-eth', 'equity:conversion:usdc']
    const results = ['income:revaluation', 'expenses:revaluation']
    return Promise.all([...names, ...results].map((name) => hub().hub.ledger.balance(name)))
  }

  /** Conditions of the month's closing checklist that are not met, without other tests' entries. */
  const missing = async (): Promise<readonly unknown[]> => {
    const { body } = await fay.ask(`/v1/finance/periods/${month}/checklist`)
    const open = (body['items'] as Json[]).filter((item) => item['open'] !== 0)
    return open.map(({ name }) => name).filter((name) => name !== 'proposals')
  }

  it('is posted at the end of a month from a price with its source and author', async () => {
    expectRefused(await revalue(usd('2500'), { source: ' ' }), 422, 'validation_failed')
    const now = { month: monthName(systemClock.now()) }
    expectRefused(await revalue(usd('2500'), now), 409, 'not_booked')
    expect(await missing()).to.deep.equal(['revalued'])
    const response = await revalue(usd('2500'))
    expect(response.status, response.text).to.equal(201)
    expect(await missing()).to.deep.equal([])
    // 0.05 ETH came in, gas of 0.01 ETH had cost 30 USD: at 2,500 the rest is worth 100.
    const amounts = ['-100', '125', '0', '5', '0'].map(signed)
    expect(await balances()).to.deep.equal(amounts)
    expectRefused(await revalue(usd('2500')), 409, 'not_booked')
    expect(await balances()).to.deep.equal(amounts)
  })

  it('is corrected by another price, above the limit by two people', async () => {
    expect((await revalue(usd('2000'))).status).to.equal(201)
    expect(await balances()).to.deep.equal(['-80', '125', '0', '5', '-20'].map(signed))
    const proposed = await revalue(usd('9000'))
    expect(proposed.status, proposed.text).to.equal(202)
    expect(await balances()).to.deep.equal(['-80', '125', '0', '5', '-20'].map(signed))
    const path = `/v1/finance/proposals/${String(proposed.body['id'])}/confirm`
    const confirmed = await gus.ask(path, { body: { reason } })
    expect(confirmed.status, confirmed.text).to.equal(200)
    expect(await balances()).to.deep.equal(['-360', '125', '0', '285', '-20'].map(signed))
  })

  it('is explained with the cost of gas by report and command, and balances', async () => {
    const { body } = await fay.ask(`/v1/finance/conversion?period=${month}`)
    for (const { opening, changes, closing } of body['accounts'] as Json[]) {
      const sum = (changes as Json[]).reduce((total, each) => total + Number(each['amount']), 0)
      expect(Number(opening) + sum).to.equal(closing)
    }
    const accounts = body['accounts'] as Json[]
    const closing = accounts.map((line) => [line['account'], line['closing']])
    expect(closing).to.deep.include.members([
      ['assets:eth:base:gas', -40_000_000],
      ['equity:conversion:eth', -10_000_000],
      ['equity:conversion:usdc', 0],
      [VALUE, -360_000_000],
    ])
    const shown = (body['revaluations'] as Json[]).map(({ price, source, author }) => [
      price,
      source,
      author,
    ])
    expect(shown[0]).to.deep.equal(['2500.000000', 'Exchange, 23:59', fay.email])
    expect(String(shown[2]?.[2])).to.include(fay.email).and.to.include(gus.email)
    const sheet = (await fay.ask(`/v1/finance/balance-sheet?period=${month}`)).body
    const difference = (sheet['results'] as Json[]).find(({ name }) => name === 'difference')
    expect(difference?.['amounts']).to.deep.equal([0, 0])
    const flow = (await fay.ask(`/v1/finance/cash-flow?period=${month}`)).body
    const totals = (flow['sections'] as { totals: number[] }[]).map((section) => section.totals[0])
    expect(totals, 'no cash').to.deep.equal([0, 0, 0])
    let text = ''
    const write = (part: string) => (text += part)
    const code = await ledgerCommand(async () => hub().hub.pool, ['conversion', month], write)
    expect([code, text.includes('1 ETH = 9000.000000 USDC  Exchange, 23:59')]).to.deep.equal([
      0,
      true,
    ])
  })

  it('is required again before the month is closed if gas was posted later', async () => {
    const { ledger } = hub().hub
    const owner = await ledger.account('assets:eth:base:gas')
    const effectiveAt = new Date(from.getTime() + 2 * 86_400_000)
    const paid = { type: 'gas.paid', gwei: 1_000_000n, cost: usd('9') } as const
    const entry = { owner, id: uuidv7(effectiveAt.getTime()), effectiveAt }
    expect(await ledger.post(paid, entry)).to.equal('applied')
    expect(await missing()).to.deep.equal(['revalued'])
    expect((await revalue(usd('9000'))).status).to.equal(201)
    expect(await missing()).to.deep.equal([])
  })

  it('gives exports the price of the day', async () => {
    let text = ''
    for await (const part of exportLedger(hub().hub.pool, 'hledger')) text += part
    const day = new Date(monthStart(systemClock.now()).getTime() - 1).toISOString().slice(0, 10)
    expect(text).to.include(`P ${day} ETH 9000.000000 USDC`)
  })

  it('is proposed by no feed unless the operator configures one', async () => {
    const { body } = await fay.ask(`/v1/finance/conversion?period=${month}`)
    expect(body['price_feed']).to.equal(null)
    const read = await fay.ask(`/v1/finance/eth-price?month=${month}`)
    expectRefused(read, 404, 'not_found')
  })

  it('never changes in a closed month', async () => {
    await closePeriod(hub().hub.financePool, month, 'a test')
    expectRefused(await revalue(usd('2500')), 409, 'not_booked')
  })
})

const signed = (text: string): bigint =>
  text.startsWith('-') ? 0n - usd(text.slice(1)) : usd(text)
