import { expect } from 'chai'
import { monthName, monthStart, systemClock } from '../../../../core/clock.ts'
import { advance, enroll } from '../../../../core/ledger/outbox/subscriber.ts'
import { usd } from '../../../../core/money.ts'
import { earningsSubscriber } from '../../../../core/usage/earnings.ts'
import { useHub } from '../../../support/suite.ts'
import type { Json } from '../../staff/fixture.ts'
import { createAdmin } from './fixture.ts'

describe('financial statements', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet] } })
  const month = monthName(systemClock.now())
  before(async () => {
    const ada = await hub().agent()
    await hub().credit(ada.keyId, usd('5'))
    for (let i = 0; i < 3; i++) await ada.client.call('echo', '/say', { words: 'hi' })
  })

  const get = async (path: string) => admin.ask(hub(), path)
  const amount = (lines: unknown, name: string): number => {
    const found = (lines as Json[]).find((line) => line['name'] === name)
    expect(found, name).to.not.equal(undefined)
    return (found!['amounts'] as number[])[0]!
  }

  it('tie to the trial balance, by month, quarter and year', async () => {
    const { body: trial } = await get('trial-balance?by=group')
    const balances = new Map((trial['accounts'] as Json[]).map((a) => [a['account'], a['balance']]))
    const quarter = `${month.slice(0, 4)}-Q${Math.ceil(Number(month.slice(5)) / 3)}`
    for (const period of [month, quarter, month.slice(0, 4)]) {
      const { body: income } = await get(`income-statement?period=${period}`)
      const [earned] = income['sections'] as Json[]
      expect(amount(earned!['lines'], 'income:commission')).to.equal(
        balances.get('income:commission'),
      )
      const net = amount(income['results'], 'net income')
      const { body: sheet } = await get(`balance-sheet?period=${period}`)
      const [assets, liabilities, equity] = sheet['sections'] as Json[]
      for (const { name, amounts } of assets!['lines'] as Json[]) {
        expect((amounts as number[])[0], String(name)).to.equal(-Number(balances.get(name)))
      }
      for (const { name, amounts } of liabilities!['lines'] as Json[]) {
        expect((amounts as number[])[0], String(name)).to.equal(balances.get(name))
      }
      const earnings = `equity:retained-earnings:${month.slice(0, 4)}`
      expect(amount(equity!['lines'], earnings)).to.equal(net)
      const { body: flow } = await get(`cash-flow?period=${period}`)
      expect(amount((flow['sections'] as Json[])[0]!['lines'], 'net income')).to.equal(net)
      for (const { results } of [sheet, flow]) {
        expect(amount(results, 'difference')).to.equal(0)
      }
      const { body: all } = await get(`statements?period=${period}`)
      const amounts = (found: Json) => [found['sections'], found['results']]
      expect((all['data'] as Json[]).map(amounts)).to.deep.equal([income, sheet, flow].map(amounts))
    }
  })

  it('compare with the previous period, or a chosen one', async () => {
    const periodsOf = async (query: string): Promise<unknown[]> => {
      const { body } = await get(`income-statement?${query}`)
      return (body['periods'] as Json[]).map(({ name }) => name)
    }
    const previous = monthName(monthStart(systemClock.now(), -1))
    expect(await periodsOf(`period=${month}`)).to.deep.equal([month, previous])
    expect(await periodsOf('period=2026-Q1')).to.deep.equal(['2026-Q1', '2025-Q4'])
    expect(await periodsOf('period=2026&compare=2024')).to.deep.equal(['2026', '2024'])
  })

  it('agree with the trends of the last months', async () => {
    const { pool } = hub().hub
    for (const shard of await enroll(pool, earningsSubscriber)) {
      while ((await advance(pool, earningsSubscriber, shard)) > 0n);
    }
    const { body: trends } = await get('trends')
    const months = trends['data'] as Json[]
    expect(months).to.have.length(12)
    for (const found of months.slice(-2)) {
      const period = String(found['month'])
      const { body: statement } = await get(`income-statement?period=${period}`)
      const [income, expenses] = statement['sections'] as { totals: number[] }[]
      const { body: sheet } = await get(`balance-sheet?period=${period}`)
      const [assets, liabilities] = sheet['sections'] as { lines: unknown; totals: number[] }[]
      const cash = (assets!.lines as { name: string; amounts: number[] }[])
        .filter(({ name }) => name.startsWith('assets:usdc:'))
        .reduce((sum, { amounts }) => sum + amounts[0]!, 0)
      expect(found, period).to.include({
        income_microdollars: income!.totals[0],
        expenses_microdollars: expenses!.totals[0],
        net_income_microdollars: amount(statement['results'], 'net income'),
        liabilities_microdollars: liabilities!.totals[0],
        cash_microdollars: cash,
      })
    }
    const { provider_sales_microdollars: sales, payouts_microdollars: payouts } = months.at(-1)!
    expect([months.at(-1)!['month'], sales, payouts]).to.deep.equal([month, 300, 0])
    expect(months.at(-1)!['liabilities_microdollars']).to.be.greaterThan(0)
  })

  it('are refused for anything but a period, and for callers without a role', async () => {
    for (const period of ['', '2026-13', '2026-Q5', '26', '2026-11-01', 'now']) {
      const { status, body } = await get(`balance-sheet?period=${period}`)
      expect([status, body['code']], period).to.deep.equal([422, 'validation_failed'])
    }
    const { apiKey: key } = await hub().agent()
    const response = await fetch(`${hub().url}/v1/finance/cash-flow?period=${month}`, {
      headers: { 'x-api-key': key },
    })
    expect(response.status).to.equal(403)
  })
})
