import { expect } from 'chai'
import { dayName, daysBefore, systemClock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { adjust } from '../../../core/ledger/adjust.ts'
import { creditsOf } from '../../../core/ledger/postings.ts'
import { reverseCall } from '../../../core/ledger/reverse.ts'
import { micros, usd } from '../../../core/money.ts'
import { ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { type Json, refused } from '../../support/webhook-fixture.ts'

describe('history and spending of a key', () => {
  const hub = useHub()
  let ada: TestAgent
  beforeEach(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('1'))
  })
  const get = (path: string, key = ada.apiKey) => ask(hub().url, path, { key })
  const history = async (query = '') =>
    (await get(`/v1/credits/history${query}`)).body['data'] as Json[]
  const say = (key = ada.apiKey) =>
    ask(hub().url, '/proxy/echo/say', { key, body: { words: 'hi' } })

  it('have one row per call with the balance after it, over pages', async () => {
    await hub().credit(ada.keyId, usd('2'))
    await say()
    await ask(hub().url, '/proxy/external', {
      key: ada.apiKey,
      body: { url: `${hub().sandbox!.sellerUrl}/weather` },
    })
    await say()
    const rows: Json[] = []
    for (let path = '/v1/credits/history?limit=2'; path !== ''; ) {
      const { headers, body } = await get(path)
      rows.push(...(body['data'] as Json[]))
      path = /<(.*)>/.exec(String(headers['link'] ?? ''))?.[1] ?? ''
    }
    expect(new Set(rows.map(({ id }) => id)).size, 'no call twice').to.equal(rows.length)
    const shown = rows.map((row) => [
      row['event'],
      row['change_microdollars'],
      row['balance_microdollars'],
    ])
    const balance = Number(await hub().balance(ada.keyId))
    expect(shown).to.deep.equal([
      ['call.settled', -100, balance],
      ['call.settled', -10_000, balance + 100],
      ['call.settled', -100, balance + 10_100],
      ['credits.purchased', 2_000_000, balance + 10_200],
      ['credits.purchased', 1_000_000, balance + 10_200 - 2_000_000],
    ])
    expect(rows).to.deep.equal(await history('?limit=100'))
    const movements = await history('?view=movements')
    const reserved = movements.filter(({ event }) => event === 'call.reserved')
    expect(reserved).to.have.length(3)
    for (const view of ['calls', 'movements']) {
      const [last] = (await history(`?view=${view}`)).toReversed()
      expect(last?.['balance_microdollars'], view).to.equal(1_000_000)
    }
    const [filtered] = await history('?service=echo')
    expect(filtered, 'later rows are left out').to.include({ balance_microdollars: null })
  })

  it('show what a call in flight reserves, and a refund with its call', async () => {
    const { pool, ledger } = hub().hub
    const call = uuidv7(systemClock.now().getTime())
    const owner = await ledger.account(creditsOf(ada.keyId))
    const payee = await ledger.account('income:commission')
    const terms = { call, owner, payee, amount: 700n, commissionBps: 0, ttlSeconds: 60 }
    expect((await ledger.reserve(terms)).outcome).to.equal('applied')
    const [pending] = await history()
    expect(pending).to.include({
      id: call,
      event: 'call.reserved',
      change_microdollars: -700,
      balance_microdollars: 999_300,
    })
    await ledger.settle({ call, owner }, 600n)
    expect((await history())[0]).to.include({ event: 'call.settled', change_microdollars: -600 })
    await reverseCall(pool, ledger, { call, owner }, { author: 'finance', reason: 'late' })
    expect(await history()).to.have.length(2)
    expect((await history())[0]).to.include({
      event: 'call.reversed',
      charged_microdollars: 600,
      change_microdollars: 0,
      balance_microdollars: 1_000_000,
    })
  })

  it('are filtered by event, service and time', async () => {
    await say()
    const rows = await history('?view=movements')
    expect(rows.map(({ event }) => event)).to.deep.equal([
      'call.settled',
      'call.reserved',
      'credits.purchased',
    ])
    const [settled, , purchased] = rows
    const events = await history('?view=movements&event=call.settled,credits.purchased')
    const unfiltered = [settled, purchased].map((row) => ({ ...row, balance_microdollars: null }))
    expect(events).to.deep.equal(unfiltered)
    expect(await history('?view=movements&service=echo')).to.have.length(2)
    expect(await history('?service=echo')).to.have.length(1)
    expect(await history('?event=call.reserved'), 'the last event of a call').to.deep.equal([])
    expect(await history('?service=analysis')).to.deep.equal([])
    const at = String(settled?.['at'])
    const later = new Date(Date.parse(at) + 1).toISOString()
    const between = await history(`?view=movements&from=${at}&to=${later}`)
    expect(between).to.deep.include.members([unfiltered[0]])
    expect(await history(`?from=${later}`)).to.deep.equal([])
    const first = await get('/v1/credits/history?view=movements&service=echo&limit=1')
    const link = /<(.*)>/.exec(String(first.headers['link']))?.[1] ?? ''
    expect(link, 'the next page has the same filter').to.include('service=echo')
    const next = { ...rows[1], balance_microdollars: null }
    expect((await get(link)).body['data']).to.deep.equal([next])
    for (const query of ['?event=Call', '?from=yesterday', '?to=2026', '?limit=0']) {
      refused(await get(`/v1/credits/history${query}`), 422, 'validation_failed')
    }
  })

  it('include manual entries with their reason', async () => {
    const { pool, ledger } = hub().hub
    const entry = { debit: 'expenses:bad-debt', credit: creditsOf(ada.keyId), amount: micros(5) }
    const why = { author: 'finance', reason: 'a gift after an outage' }
    const id = uuidv7(systemClock.now().getTime())
    expect(await adjust(pool, ledger, entry, why, { id })).to.equal('applied')
    const [row] = await history()
    expect(row).to.include({
      event: 'balance.adjusted',
      change_microdollars: 5,
      reason: 'a gift after an outage',
    })
    const sum = (await history()).reduce(
      (all, each) => all + Number(each['change_microdollars']),
      0,
    )
    expect(BigInt(sum)).to.equal(await hub().balance(ada.keyId))
  })

  it('are grouped by key within a range of days', async () => {
    const response = await ask(hub().url, '/v1/keys', { key: ada.apiKey, body: {} })
    const child = { id: String(response.body['key_id']), key: String(response.body['api_key']) }
    await say()
    await say(child.key)
    await say(child.key)
    const spending = async (query = '', key = ada.apiKey) => {
      const { body } = await get(`/v1/wallet/balance${query}`, key)
      return body['spending'] as Record<'by_key' | 'by_day' | 'by_service', Json[]>
    }
    let current = await spending()
    await eventually(async () => {
      current = await spending()
      return current.by_day[0]?.['calls'] === 3
    })
    const charged = new Map(
      current.by_key.map(({ key_id, charged_microdollars }) => [key_id, charged_microdollars]),
    )
    expect(charged).to.deep.equal(
      new Map([
        [ada.keyId, 100],
        [child.id, 200],
      ]),
    )
    expect((await spending('', child.key)).by_key, 'a sub-key sees only its own').to.have.length(1)
    const today = systemClock.now()
    const [yesterday, day] = [dayName(daysBefore(today, 1)), dayName(today)]
    expect((await spending(`?from=${yesterday}&to=${yesterday}`)).by_day).to.deep.equal([])
    expect((await spending(`?from=${day}&to=${day}`)).by_day).to.have.length(1)
    for (const query of [`?from=${day}&to=${yesterday}`, '?from=2020-01-01', '?from=today']) {
      refused(await get(`/v1/wallet/balance${query}`), 422, 'validation_failed')
    }
  })
})
