import { createHash, randomUUID } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { request } from 'undici'
import { dayName, systemClock } from '../../../core/clock.ts'
import { writeNextExport } from '../../../core/finance/write-export.ts'
import { exportLedger } from '../../../core/ledger/export/writer.ts'
import { takeSnapshots } from '../../../core/ledger/history/snapshot.ts'
import { createLog } from '../../../core/log.ts'
import { usd } from '../../../core/money.ts'
import { type ApiResponse, ask } from '../../support/ask.ts'
import type { TestAgent } from '../../support/hub.ts'
import type { Person } from '../../support/person.ts'
import { useHub } from '../../support/suite.ts'
import { createAdmin } from '../rest/finance/fixture.ts'
import { createStaff, dataOf, expectRefused, type Json } from './fixture.ts'

const reason = 'a test'
const CREDIT = 'equity:opening'
const DEBIT = 'expenses:free-tier'

describe('the ledger in the finance API', () => {
  const admin = createAdmin()
  const soloAdjustmentMax = usd('10')
  const hub = useHub({
    config: { admins: [admin.wallet], soloAdjustmentMax },
  })
  let ada: TestAgent
  let fay: Person
  let gus: Person
  let credits: string
  let call: string
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('5'))
    credits = `liabilities:agents:${ada.keyId}:credits`
    fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
    gus = await createStaff(hub(), admin, 'gus@house.example', 'finance')
    for (let i = 0; i < 3; i++) await ada.client.call('echo', '/say', { words: 'hi' })
    await takeSnapshots(hub().hub.pool)
    const history = await ask(hub().url, '/v1/credits/history', { key: ada.apiKey })
    call = String(dataOf(history)[0]!['call_id'] ?? dataOf(history)[0]!['id'])
  })

  const get = (path: string): Promise<ApiResponse> => fay.ask(`/v1/finance/${path}`)
  const post = (path: string, body: Json, by = fay): Promise<ApiResponse> =>
    by.ask(`/v1/finance/${path}`, { body: { reason, ...body } })
  const adjust = (amount: bigint, more: Json = {}): Promise<ApiResponse> =>
    post('adjustments', { debit: DEBIT, credit: CREDIT, amount: Number(amount), ...more })
  const balance = async (account: string): Promise<number> => {
    const { body } = await get(`trial-balance?prefix=${account}`)
    return Number((body['accounts'] as Json[])[0]?.['balance'] ?? 0)
  }
  const today = () => dayName(systemClock.now())

  it('has a trial balance of zero for each asset, now and on any day', async () => {
    for (const query of ['', `?day=${today()}`, '?day=2026-01-01', '?zero=show']) {
      const { body, text } = await get(`trial-balance${query}`)
      for (const { total } of body['totals'] as Json[]) expect(total, text).to.equal(0)
    }
    const now = await balance(credits)
    const asOf = async (day: string) => {
      const { body } = await get(`trial-balance?prefix=${credits}&day=${day}`)
      return (body['accounts'] as Json[])[0]?.['balance'] ?? 0
    }
    expect(now).to.equal(5_000_000 - 300)
    expect([await asOf(today()), await asOf('2026-01-01')]).to.deep.equal([now, 0])
  })

  it('sums debits and credits of the trial balance over all pages', async () => {
    for (const day of ['', `&day=${today()}`]) {
      const whole = (await get(`trial-balance?by=group${day}`)).body
      expect(whole['sums'], 'whole ledger').to.have.length.greaterThan(0)
      for (const { debits, credits } of whole['sums'] as Json[]) expect(debits).to.equal(credits)
      const of = 'prefix=liabilities:'
      const { body } = await get(`trial-balance?${of}${day}`)
      const balances = (body['accounts'] as Json[])
        .filter(({ asset }) => asset === 'USDC')
        .map((row) => Number(row['balance']))
      const sum = balances.reduce((total, each) => total + each, 0)
      const wanted = { asset: 'USDC', debits: 0, credits: sum }
      expect(sum).to.be.above(0)
      for (const page of ['', '&limit=1', '&limit=1&after=liabilities:payouts', '&by=group']) {
        const { body: some } = await get(`trial-balance?${of}${page}${day}`)
        expect(some['sums'], page).to.deep.include(wanted)
      }
    }
  })

  it('groups accounts of one kind in one line, and pages through each account', async () => {
    const rowsOf = async (query: string) => {
      const { body, text } = await get(`trial-balance?${query}`)
      expect(body['accounts'], text).to.be.an('array')
      return body['accounts'] as Json[]
    }
    await hub().credit((await hub().agent()).keyId, usd('2'))
    for (const day of ['', `&day=${today()}`]) {
      const grouped = await rowsOf(`by=group${day}`)
      const agents = grouped.find(({ account }) => account === 'liabilities:agents:')
      const each = await rowsOf(`prefix=liabilities:agents:${day}`)
      expect(each).to.have.length.greaterThan(1)
      expect(agents).to.deep.equal({
        account: 'liabilities:agents:',
        asset: 'USDC',
        balance: each.reduce((sum, row) => sum + Number(row['balance']), 0),
        accounts: each.length,
      })
      const names = grouped.map(({ account }) => String(account))
      expect(
        names.filter((name) => name.startsWith('liabilities:agents')),
        'once',
      ).to.have.length(1)
      const paged: Json[] = []
      for (let after = ''; ; after = `&after=${String(paged.at(-1)?.['account'])}`) {
        const next = await rowsOf(`prefix=liabilities:agents:&limit=1${after}${day}`)
        if (next.length === 0) break
        paged.push(...next)
      }
      expect(paged).to.deep.equal(each)
    }
  })

  it('links a posting to its call, and a call to its postings', async () => {
    const { body } = await get(`entries/${call}`)
    const entries = body['entries'] as Json[]
    expect(entries.map(({ event }) => event)).to.deep.equal(['call.reserved', 'call.settled'])
    expect(body['call']).to.include({ id: call, charged_microdollars: 100, key_id: ada.keyId })
    for (const { postings, call_id } of entries) {
      expect(call_id).to.equal(call)
      const sum = (postings as Json[]).reduce((total, { amount }) => total + Number(amount), 0)
      expect(sum).to.equal(0)
    }
    expectRefused(await get(`entries/${randomUUID()}`), 404, 'not_found')
  })

  it('pages through the journal by event and day, each entry once', async () => {
    const walk = async (query: string): Promise<Json[]> => {
      const seen: Json[] = []
      let cursor = ''
      do {
        const page = await get(`journal?limit=2${query}${cursor && `&cursor=${cursor}`}`)
        seen.push(...dataOf(page))
        cursor = (page.body['next_cursor'] as string | null) ?? ''
      } while (cursor !== '')
      return seen
    }
    const all = await walk('')
    const { rows } = await hub().database.admin.query('SELECT FROM ledger.journal')
    expect(all).to.have.length(rows.length)
    expect(new Set(all.map(({ shard, seq }) => JSON.stringify([shard, seq]))).size).to.equal(
      rows.length,
    )
    const times = all.map(({ booked_at: at }) => String(at))
    expect(times).to.deep.equal(times.toSorted().toReversed())
    const settled = await walk('&event=call.settled')
    expect(settled).to.have.length(all.filter(({ event }) => event === 'call.settled').length)
    expect(await walk(`&from=${today()}&to=${today()}`)).not.to.have.length(0)
    expect(await walk('&from=2020-01-01&to=2020-01-02')).to.have.length(0)
  })

  it('finds the entries of a call, a transaction and an author', async () => {
    const events = async (query: string): Promise<unknown[]> =>
      dataOf(await get(`journal?${query}`)).map(({ event }) => event)
    expect(await events(`call=${call}`)).to.deep.equal(['call.settled', 'call.reserved'])
    expect(await events(`call=${randomUUID()}`)).to.deep.equal([])
    expect(await events(`transaction=0x${'0'.repeat(64)}`)).to.deep.equal([])
    await adjust(3n)
    const name = fay.email.slice(0, 5).toUpperCase()
    expect(await events(`author=${name}`)).to.deep.equal(['balance.adjusted'])
    expect(await events(`author=${name}&event=call.reversed`)).to.deep.equal([])
    expect(await events(`author=${encodeURIComponent("x' OR true")}`)).to.deep.equal([])
    for (const query of ['transaction=0x12', 'call=x', `call=${call}&author=a`, 'author=']) {
      expectRefused(await get(`journal?${query}`), 422, 'validation_failed')
    }
  })

  it('returns a statement with opening, movements and closing, also as CSV', async () => {
    const path = `accounts/${credits}/statement`
    const { body } = await get(`${path}?limit=100`)
    const lines = dataOf({ body } as ApiResponse)
    const sum = lines.reduce((total, { amount }) => total + Number(amount), 0)
    expect(Number(body['opening']) + sum).to.equal(body['closing'])
    expect(lines.at(-1)!['balance']).to.equal(body['closing'])
    const csv = await get(`${path}.csv`)
    expect(csv.headers['content-type']).to.include('text/csv')
    const rows = csv.text.trim().split('\r\n')
    expect(rows).to.have.length(lines.length + 1)
    expect(rows.at(-1)).to.match(/,USDC,-?\d+\.\d{6},4\.999700$/)
    expectRefused(
      await get('accounts/liabilities:agents:nobody:credits/statement'),
      404,
      'not_found',
    )
  })

  it('lets one person post a small correction, once per key, with author and reason', async () => {
    const before = await balance(DEBIT)
    const first = await adjust(5n, { key: 'fix-1' })
    expect([first.status, first.body['state']]).to.deep.equal([201, 'booked'])
    const again = await adjust(5n, { key: 'fix-1' })
    expect(again.body).to.deep.equal(first.body)
    expectRefused(await adjust(6n, { key: 'fix-1' }), 422, 'idempotency_key_reused')
    expect(await balance(DEBIT)).to.equal(before - 5)
    const { body } = await get(`entries/${String(first.body['id'])}`)
    expect((body['entries'] as Json[])[0]!['meta']).to.include({ author: fay.email, reason })
  })

  it('requires a second person for a large correction', async () => {
    const before = await balance(DEBIT)
    const proposed = await adjust(soloAdjustmentMax + 1n)
    expect([proposed.status, proposed.body['state']]).to.deep.equal([202, 'proposed'])
    expect(await balance(DEBIT)).to.equal(before)
    const path = `adjustments/${String(proposed.body['id'])}`
    expectRefused(await post(`${path}/confirm`, {}), 403, 'second_person_required')
    const ended = await Promise.all([
      post(`${path}/confirm`, {}, gus),
      post(`${path}/confirm`, {}, gus),
    ])
    for (const { body } of ended) expect(body['state']).to.equal('booked')
    expect(await balance(DEBIT)).to.equal(before - Number(soloAdjustmentMax) - 1)
    expectRefused(await post(`${path}/decline`, {}, gus), 409, 'not_booked')
    const [shown] = dataOf(await get('adjustments'))
    expect(shown).to.include({ proposed_by: fay.email, decided_by: gus.email, state: 'booked' })
  })

  it('counts an account and its linked wallets as one person', async () => {
    const proposed = await adjust(soloAdjustmentMax + 2n)
    const { admin: owner } = hub().database
    await owner.query(
      `INSERT INTO hub.wallet_link (wallet, person) SELECT p.id, h.principal
       FROM hub.principal p, hub.person h WHERE p.wallet_address = $1 AND h.email = $2`,
      [admin.wallet, fay.email],
    )
    const path = `/v1/finance/adjustments/${String(proposed.body['id'])}/confirm`
    const key = await admin.key(hub())
    const body = { reason }
    expectRefused(await ask(hub().url, path, { key, body }), 403, 'second_person_required')
    await owner.query('DELETE FROM hub.wallet_link')
    expectRefused(await ask(hub().url, path, { key, body }), 403, 'second_person_required')
    expect((await post(`adjustments/${String(proposed.body['id'])}/decline`, {})).status).to.equal(
      200,
    )
  })

  it('rejects corrections that break a ledger rule', async () => {
    expectRefused(await adjust(5n, { debit: 'liabilities:holds' }), 409, 'not_booked')
    expectRefused(
      await adjust(5n, { debit: credits, credit: 'assets:eth:base:gas' }),
      409,
      'not_booked',
    )
    expectRefused(await adjust(9_000_000n, { debit: credits }), 409, 'not_booked')
    expectRefused(await adjust(0n), 422, 'validation_failed')
    expectRefused(await post('calls/nonsense/refund', {}), 422, 'validation_failed')
  })

  it('writes an export in a job, identical to that of the command line', async () => {
    const started = await post('exports', { format: 'hledger' })
    expect([started.status, started.body['state']]).to.deep.equal([202, 'waiting'])
    const path = `exports/${String(started.body['export_id'])}`
    expectRefused(await get(`${path}/file`), 409, 'export_not_ready')
    let expected = ''
    for await (const text of exportLedger(hub().hub.pool, 'hledger')) expected += text
    await adjust(5n) // not included in the export
    await writeNextExport(
      { pool: hub().hub.pool, log: createLog('silent') },
      new AbortController().signal,
    )
    const { body } = await get(path)
    expect(body).to.include({ state: 'done', bytes: Buffer.byteLength(expected) })
    expect(body['sha256']).to.equal(createHash('sha256').update(expected).digest('hex'))
    const {
      statusCode,
      headers,
      body: sent,
    } = await request(`${hub().url}${String(body['file'])}`, { headers: { cookie: fay.cookie } })
    expect([statusCode, headers['content-type']]).to.deep.equal([200, 'application/gzip'])
    const text = gunzipSync(Buffer.from(await sent.arrayBuffer())).toString()
    expect(text).to.equal(expected)
  })
})
