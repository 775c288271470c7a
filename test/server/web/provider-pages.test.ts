import { expect } from 'chai'
import { load } from 'cheerio'
import { dayName, daysBefore, systemClock } from '../../../core/clock.ts'
import { earningsOf } from '../../../core/ledger/postings.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { signInByOutbox } from './account-fixture.ts'

describe('earnings on the pages of a provider', () => {
  const hub = useHub({ config: { jobs: true } })
  const dayBack = (days: number) => dayName(daysBefore(systemClock.now(), days))
  let person: Person
  before(async () => {
    person = await signInByOutbox(hub(), 'sells@example.test')
    await listApi(person, 'tides')
    await listApi(person, 'maps')
    await plant('tides', 2, { gross: 3_000_000, commission: 300_000 })
    await plant('maps', 2, { gross: 1_000_000, commission: 100_000 })
    await plant('maps', 1, { refunded: 1_500_000 })
    await plant('maps', 40, { gross: 5_000_000, commission: 500_000 })
  })

  const listApi = async (owner: Person, slug: string) => {
    const base_url = 'https://harbor-post.org/v2'
    const body = { slug, name: slug, category: 'data', summary: 'Of harbors.', base_url }
    const { status, text } = await owner.ask('/v1/provider/services', { body })
    expect(status, text).to.equal(201)
  }

  const plant = async (
    slug: string,
    days: number,
    { gross = 0, commission = 0, refunded = 0 }: Readonly<Record<string, number>>,
  ) => {
    const { admin } = hub().database
    const { rows } = await admin.query<{ provider: string }>(
      'SELECT provider FROM hub.upstream WHERE slug = $1',
      [slug],
    )
    const code = earningsOf(rows[0]!.provider, slug, false)
    const { id } = await hub().hub.ledger.open(code, 'USDC')
    await admin.query(
      `INSERT INTO hub.earning (account, day, calls, gross, commission, refunded)
       VALUES ($1, $2, 1, $3, $4, $5)`,
      [id, dayBack(days), gross, commission, refunded],
    )
  }

  const open = async (path: string, as = person) => {
    const { text, status } = await as.ask(path, { headers: { accept: 'text/html' } })
    const page = load(text)
    const textsOf = (selector: string) =>
      page(selector)
        .toArray()
        .map((each) => page(each).text().replaceAll(/\s+/g, ' ').trim())
    const next = () => String(page('a[rel=next]').attr('href'))
    return { status, page, textsOf, next, text: page('main').text() }
  }
  const EARNINGS = 'svg[aria-label^="Earnings by"]'

  it('are drawn by API for the chosen days, compared with the days before', async () => {
    const { textsOf } = await open('/provider')
    expect(textsOf('.comparison')).to.deep.equal(['$2.10 −53 % from $4.50 in the previous 30 days'])
    expect(textsOf(`${EARNINGS} title`).slice(-3)).to.deep.equal([
      `${dayBack(2)}: tides $2.70, maps $0.90`,
      `${dayBack(1)}: tides $0.00, maps -$1.50`,
      `${dayBack(0)}: tides $0.00, maps $0.00`,
    ])
    expect(textsOf(`figure:has(${EARNINGS}) .chart-table tbody tr`)).to.have.length(2)
    expect(textsOf('[aria-label="Earnings by API"] tbody tr')).to.deep.equal([
      'tides$2.70',
      'maps-$0.60',
    ])
    const quarter = await open('/provider?days=90')
    expect(quarter.textsOf('.comparison')[0]).to.match(/^\$6\.60 nothing in the previous 90 days/)
    const year = await open('/provider?days=365')
    expect(year.textsOf(`${EARNINGS} title`)).to.have.length(53)
    expect(year.textsOf('.comparison strong')).to.deep.equal(['$6.60'])
    expect((await open('/provider?days=3')).status, 'not offered').to.equal(422)
  })

  it('are those of one API on its statistics, also without calls in the period', async () => {
    const { textsOf } = await open('/provider/statistics?service=tides')
    expect(textsOf('.comparison strong')).to.deep.equal(['$2.70'])
    expect(textsOf(`${EARNINGS} title`).at(-3)).to.equal(`${dayBack(2)}: tides $2.70`)
  })

  it('say so if there are none, and are shown to their provider only', async () => {
    const other = await signInByOutbox(hub(), 'sells-nothing@example.test')
    await listApi(other, 'charts')
    const { text, textsOf } = await open('/provider', other)
    expect(text).to.include('No calls in this period.')
    expect(textsOf('svg.chart')).to.deep.equal([])
    expect((await open('/provider/statistics?service=tides', other)).status).to.equal(404)
  })

  /** Inserts calls of `tides` in an order that is not that of their ids. */
  const plantCalls = (count: number, outcome: string, at: string) =>
    hub().database.admin.query(
      `INSERT INTO hub.call (id, at, request_id, principal, key_id, service, endpoint,
         price_version, source, charged, outcome, status, latency_ms, reason)
       SELECT ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $3::timestamptz, 'req',
         'prn', 'key', 'tides', 1, 1, 'credits', CASE $2 WHEN 'failed' THEN 0 ELSE 3000 END, $2,
         CASE $2 WHEN 'failed' THEN 502 ELSE 200 END, n,
         CASE $2 WHEN 'failed' THEN 'upstream_error' END
       FROM (SELECT i * 7 % ($1 + 1) + CASE $2 WHEN 'failed' THEN 0 ELSE 100000 END AS n
         FROM generate_series(1, $1::integer) i) c`,
      [count, outcome, at],
    )

  it('stand beside the calls, the latest first also within one instant', async () => {
    const failures = 30
    await plantCalls(failures, 'failed', `${dayBack(3)}T10:00:00Z`)
    const path = '/v1/provider/calls?service=tides&outcome=failed'
    const list = async (query = '') => (await person.ask(`${path}${query}`)).body
    const numbersOf = (body: Readonly<Record<string, unknown>>) =>
      (body['data'] as readonly { latency_ms: number }[]).map(({ latency_ms: ms }) => ms)
    const first = await list()
    const second = await list(`&cursor=${String(first['next_cursor'])}`)
    const expected = Array.from({ length: failures }, (_, i) => failures - i)
    expect([...numbersOf(first), ...numbersOf(second)]).to.deep.equal(expected)
    const { customer } = (first['data'] as readonly { customer: string }[])[0]!
    const { body: callers } = await person.ask(`/v1/provider/customers?from=${dayBack(5)}`)
    expect(callers['data']).to.have.nested.property('[0].customer', customer)
    const other = await signInByOutbox(hub(), 'sells-charts@example.test')
    expect((await other.ask(path)).status).to.equal(404)
  })

  it('stand beside the calls, searched 5,000 at a time', async () => {
    await plantCalls(5_000, 'delivered', `${dayBack(1)}T10:00:00Z`)
    const { textsOf } = await open('/provider/calls?service=tides')
    expect(textsOf('tbody tr')[0]).to.match(/Delivered 200.*\$0\.003$/)
    const rare = await open('/provider/calls?service=tides&outcome=failed')
    expect(rare.text).to.include('None of these 5,000 calls match the filters.')
    const found = await open(rare.next())
    expect(found.textsOf('tbody tr')).to.have.length(30)
    expect(found.textsOf('tbody tr')[0]).to.include('upstream_error')
  })

  it('are downloaded as CSV by the same filters, past the calls that a page searches', async () => {
    const { page } = await open('/provider/calls?service=tides&outcome=failed')
    const href = String(page('a[href*=".csv"]').attr('href'))
    expect(href).to.equal('/v1/provider/calls.csv?service=tides&outcome=failed')
    const linesOf = async (path: string, as = person) => {
      const { status, text } = await as.ask(path)
      expect(status, text).to.equal(200)
      return text.trimEnd().split('\r\n')
    }
    const [head, ...failed] = await linesOf(href)
    expect(head).to.equal(
      'at_utc,call_id,endpoint,caller,outcome,status,reason,latency_ms,charged_usd',
    )
    expect(failed).to.have.length(30)
    expect(failed[0]).to.match(/,failed,502,upstream_error,30,0\.00$/)
    const all = await linesOf('/v1/provider/calls.csv?service=tides')
    expect(all, 'in two pages').to.have.length(1 + 5_000 + 30)
    expect(new Set(all)).to.have.property('size', all.length)
    const other = await signInByOutbox(hub(), 'sells-none@example.test')
    expect((await other.ask(href)).status).to.equal(404)
  })
})
