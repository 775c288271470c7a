import { expect } from 'chai'
import { load } from 'cheerio'
import { usd } from '../../../core/money.ts'
import { flawed, gift } from '../../stories/failing-services.ts'
import { ask } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { signInByOutbox } from './account-fixture.ts'

const CALLS = ['/flawed/works', '/gift/try', '/flawed/throws', '/flawed/works']
/** Sub-keys of a busy account. */
const KEYS = 6_000

describe('the call log of an account', () => {
  const hub = useHub({ plugins: [flawed, gift], config: { jobs: true } })
  let person: Person
  let keyId: string
  let key: string
  before(async () => {
    person = await signInByOutbox(hub(), 'caller@example.test')
    const { body } = await person.ask('/v1/keys', { body: { name: 'Night shift' } })
    keyId = String(body['key_id'])
    key = String(body['api_key'])
    await hub().credit(keyId, usd('5'))
    for (const path of CALLS) await ask(hub().url, `/proxy${path}`, { key, body: {} })
  })

  const open = async (path: string, as = person) => {
    const { text, status } = await as.ask(path, { headers: { accept: 'text/html' } })
    const page = load(text)
    const rows = page('table tbody tr')
      .toArray()
      .map((row) =>
        page(row)
          .find('td')
          .toArray()
          .map((cell) => page(cell).text().trim()),
      )
    return { page, status, rows }
  }

  it('has one row per call, free and failed ones too, with price and balance', async () => {
    const { rows } = await open('/account/calls')
    const shown = rows.map(([, endpoint, outcome, by, , price, balance]) => [
      endpoint,
      outcome?.replace(/\s+/g, ' '),
      by,
      price,
      balance,
    ])
    expect(shown).to.deep.equal([
      ['flawed POST /works', 'Paid 200', 'Night shift', '$0.001', '$4.998'],
      ['flawed POST /throws', 'Failed, not charged 502 plugin_failed', 'Night shift', '$0.000', ''],
      ['gift POST /try', 'Free 200', 'Night shift', '$0.000', ''],
      ['flawed POST /works', 'Paid 200', 'Night shift', '$0.001', '$4.999'],
    ])
  })

  it('continues balances on later pages, past other changes of the credits', async () => {
    const spender = await signInByOutbox(hub(), 'spender@example.test')
    const { body } = await spender.ask('/v1/keys', { body: {} })
    await hub().credit(String(body['key_id']), usd('1'))
    const call = () =>
      ask(hub().url, '/proxy/flawed/works', { key: String(body['api_key']), body: {} })
    for (let i = 0; i < 30; i++) await call()
    await hub().credit(String(body['key_id']), usd('1'))
    for (let i = 0; i < 30; i++) await call()
    const first = await open('/account/calls', spender)
    const next = String(first.page('a[rel=next]').attr('href'))
    const second = await open(next, spender)
    const balances = [...first.rows, ...second.rows].map((row) => row.at(-1))
    const expected = Array.from({ length: 60 }, (_, i) => {
      const made = 60 - i
      return `$${(1 + (made > 30 ? 1 : 0) - made / 1_000).toFixed(3)}`
    })
    expect(balances).to.deep.equal(expected)
  })

  it('filters by outcome, service, key and day, and downloads the same as CSV', async () => {
    const today = new Date().toISOString().slice(0, 10)
    const count = async (query: string) => (await open(`/account/calls?${query}`)).rows.length
    expect(await count('outcome=failed')).to.equal(1)
    expect(await count('outcome=free')).to.equal(1)
    expect(await count('service=gift')).to.equal(1)
    expect(await count(`key=${keyId}&from=${today}&to=${today}`)).to.equal(4)
    const { page, rows } = await open('/account/calls?to=2020-01-01')
    expect(rows).to.deep.equal([])
    expect(page('main').text()).to.include('No calls match these filters.')
    const csv = await person.ask('/account/calls.csv?outcome=failed')
    expect(csv.headers['content-disposition']).to.match(/^attachment; filename="calls-.*csv"$/)
    const [head, line, ...rest] = csv.text.trim().split('\r\n')
    expect(head).to.match(/^at_utc,call_id,/)
    expect(line).to.match(/,"?flawed POST \/throws"?,failed,none,0\.00,0\.00,502,/)
    expect(rest).to.deep.equal([])
  })

  it('looks at a limited number of calls for a page of a filtered list', async () => {
    const rare = await signInByOutbox(hub(), 'rare@example.test')
    const { body } = await rare.ask('/v1/keys', { body: {} })
    const secret = String(body['api_key'])
    await hub().credit(String(body['key_id']), usd('1'))
    await ask(hub().url, '/proxy/flawed/throws', { key: secret, body: {} })
    const rows = 6_000
    await hub().database.admin.query(
      `INSERT INTO hub.call (id, at, request_id, principal, key_id, service, endpoint,
         price_version, source, charged, outcome, status, latency_ms)
       SELECT gen_random_uuid(), now() + n * interval '1 second', 'req', 'prn', $1, 'flawed', 1, 1,
         'credits', 1000, 'delivered', 200, 9 FROM generate_series(1, $2::integer) n`,
      [body['key_id'], rows],
    )
    const first = await open('/account/calls?outcome=failed', rare)
    expect(first.page('main').text()).to.match(
      /No calls of this page, back to .*, match these filters/,
    )
    let next = first.page('a[rel=next]').attr('href')
    const found: (string | undefined)[] = []
    for (let pages = 0; next !== undefined && pages < 5; pages++) {
      const page = await open(next, rare)
      found.push(...page.rows.map(([, endpoint]) => endpoint))
      next = page.page('a[rel=next]').attr('href')
    }
    expect(found).to.deep.equal(['flawed POST /throws'])
    expect(next, 'the search comes to an end').to.equal(undefined)
    const { body: list } = await ask(hub().url, '/v1/calls?outcome=failed', { key: secret })
    expect(list).to.deep.include({ data: [], has_more: true })
  })

  it('searches a busy key of an account with many, and all of its calls for the file', async () => {
    const many = await signInByOutbox(hub(), 'many@example.test')
    const { body } = await many.ask('/v1/keys', { body: { name: 'Busy' } })
    const { admin } = hub().database
    await admin.query(
      `INSERT INTO hub.api_key (id, principal, parent, depth, credits)
       SELECT 'key_' || lpad(n::text, 16, '0'), principal, id, 1, credits
       FROM hub.api_key, generate_series(1, $2::integer) n WHERE id = $1`,
      [body['key_id'], KEYS],
    )
    // The calls of a search, divided by the number of keys, are fewer than the first failure needs.
    await admin.query(
      `INSERT INTO hub.call (id, at, request_id, principal, key_id, service, endpoint,
         price_version, source, charged, outcome, status, latency_ms)
       SELECT gen_random_uuid(), now() - n * interval '1 second', 'req', 'prn', $1, 'flawed', 1, 1,
         'credits', 0, CASE WHEN n IN (90, 150, 250) THEN 'failed' ELSE 'delivered' END, 200, n
       FROM generate_series(1, 260) n`,
      [body['key_id']],
    )
    const { page, rows } = await open('/account/calls?outcome=failed', many)
    expect(rows, 'among the newest 100 calls of the key').to.have.length(1)
    expect(page('a[href^="/account/calls.csv"]').length).to.equal(1)
    const { text } = await many.ask('/account/calls.csv?outcome=failed')
    const latencies = text
      .trim()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(',').at(-1))
    expect(latencies, 'found by several passes').to.deep.equal(['90', '150', '250'])
  })

  it('shows what is left of the free calls, and when the credits run out', async () => {
    await eventually(async () => {
      const { page, rows } = await open('/account')
      const left = rows.filter(([service]) => service === 'Gift')
      const runOut = page('h2:contains("When the credits run out")').parent().text()
      return left.join() === 'Gift,1,2' && /longer than 30 days at the pace/.test(runOut)
    })
  })

  it('is summed by day on the page of each key, of sub-keys too', async () => {
    const { body: sub } = await person.ask('/v1/keys', { body: { parent: keyId, name: 'Helper' } })
    await ask(hub().url, '/proxy/flawed/works', { key: String(sub['api_key']), body: {} })
    const spent = async (id: string) =>
      (await open(`/account/keys/${id}`)).page('.comparison strong').text()
    await eventually(async () => (await spent(String(sub['key_id']))) === '$0.001')
    await eventually(async () => (await spent(keyId)) === '$0.003')
    const { page } = await open(`/account/keys/${String(sub['key_id'])}`)
    expect(page('.chart-box .chart-table tbody tr').length).to.equal(1)
  })

  it('shows no calls of other accounts', async () => {
    const other = await signInByOutbox(hub(), 'other@example.test')
    expect((await open('/account/calls', other)).page('main').text()).to.include('No calls yet.')
    expect((await open(`/account/calls?key=${keyId}`, other)).status).to.equal(404)
    expect((await open(`/account/calls.csv?key=${keyId}`, other)).status).to.equal(404)
  })

  it('has the same filters at GET /v1/calls', async () => {
    const { body } = await ask(hub().url, '/v1/calls?outcome=failed&service=flawed', { key })
    const [call, ...more] = body['data'] as readonly Record<string, unknown>[]
    expect(call).to.include({ endpoint: 'flawed POST /throws', outcome: 'failed', key_id: keyId })
    expect(more).to.deep.equal([])
  })
})
