import { expect } from 'chai'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { HubClient } from '../../../core/client/index.ts'
import { monthName, monthStart, systemClock } from '../../../core/clock.ts'
import { Fault } from '../../../core/errors.ts'
import type { DocumentContent } from '../../../core/finance/documents/document.ts'
import {
  type DocumentDeps,
  findDocument,
  issueDocument,
} from '../../../core/finance/documents/issue.ts'
import { toPdf } from '../../../core/finance/documents/pdf.ts'
import { takeSnapshots } from '../../../core/ledger/history/snapshot.ts'
import { usd } from '../../../core/money.ts'
import { resolvePayments } from '../../../core/payments/operations/resolve.ts'
import { ledgerCommand } from '../../../server/commands/ledger/index.ts'
import { fund } from '../../../server/sandbox/wallets.ts'
import { type ApiResponse, ask, payFor } from '../../support/ask.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestAgent } from '../../support/hub.ts'
import { useHub } from '../../support/suite.ts'
import { createStaff, dataOf, expectRefused, type Json } from '../staff/fixture.ts'
import { createAdmin } from './finance/fixture.ts'

const BILLING = {
  legal_name: 'Ada Łódź & Co <Ltd>',
  email: 'invoices@ada.example',
  address: 'Street 1, 00-001 Warsaw',
  country: 'PL',
  registration: null,
  tax_id: 'PL8567346215',
}
const TAX = { category: 'S', rate_bps: 2_300, reason: null } as const

describe('receipts, statements and credit notes', () => {
  const admin = createAdmin()
  const hub = useHub({ config: { admins: [admin.wallet] } })
  let ada: TestAgent
  let principal: string
  let purchase: string
  let calls: string[]
  before(async () => {
    ada = await hub().agent()
    await hub().credit(ada.keyId, usd('5'))
    for (let i = 0; i < 3; i++) await ada.client.call('echo', '/say', { words: 'hi' })
    await takeSnapshots(hub().hub.pool)
    const history = dataOf(await as('/v1/credits/history'))
    calls = history.flatMap(({ event, id }) => (event === 'call.settled' ? [String(id)] : []))
    purchase = String(history.find(({ event }) => event === 'credits.purchased')?.['id'])
    const { rows } = await hub().hub.pool.query<{ principal: string }>(
      'SELECT principal FROM hub.api_key WHERE id = $1',
      [ada.keyId],
    )
    principal = rows[0]!.principal
  })

  const as = (path: string, body?: Json, key = ada.apiKey, method?: string): Promise<ApiResponse> =>
    ask(hub().url, path, { key, ...(body && { body }), ...(method && { method }) })
  const issue = (body: Json, key?: string) => as('/v1/documents', body, key)
  const deps = (days = 0): DocumentDeps => ({
    pool: hub().hub.pool,
    clock: { now: () => new Date(systemClock.now().getTime() + days * 86_400_000) },
    tax: TAX,
    supplier: { ...BILLING, legal_name: 'Platform', tax_id: 'PL5260001246' },
  })

  it('require billing details, which a document keeps as they were', async () => {
    const order = { kind: 'purchase', id: purchase }
    expectRefused(await issue(order), 409, 'billing_details_required')
    expectRefused(await as('/v1/billing'), 404, 'not_found')
    const wrong = await as('/v1/billing', { ...BILLING, country: 'Poland' }, undefined, 'PUT')
    expectRefused(wrong, 422, 'validation_failed')
    const noId = await as('/v1/billing', { ...BILLING, tax_id: 'DE00' }, undefined, 'PUT')
    expectRefused(noId, 422, 'validation_failed')
    expect(noId.text).to.include('must be a valid VAT identifier of DE: check its digits')
    const spaced = { ...BILLING, tax_id: 'pl 856-734-62-15' }
    expect((await as('/v1/billing', spaced, undefined, 'PUT')).body).to.deep.equal(BILLING)
    expect((await as('/v1/billing', BILLING, undefined, 'PUT')).body).to.deep.equal(BILLING)
    const first = await issue(order)
    expect(first.status, first.text).to.equal(201)
    await as('/v1/billing', { ...BILLING, legal_name: 'Bob' }, undefined, 'PUT')
    const { body } = await issue(order)
    expect(body).to.deep.equal(first.body)
    expect(body['customer']).to.deep.equal(BILLING)
    const { from_seq: seq, entry_id: id } = lineOf(body).ledger[0]!
    expect([lineOf(body).gross_microdollars, id]).to.deep.equal([5_000_000, purchase])
    const { rows } = await hub().hub.pool.query(
      'SELECT FROM ledger.journal WHERE seq = $1 AND id = $2 AND kind = 16',
      [seq, purchase],
    )
    expect(rows).to.have.length(1)
  })

  it('are numbered without gaps in each series, also if many are issued at once', async () => {
    const issued = await Promise.all([...calls, ...calls].map((id) => issue({ kind: 'call', id })))
    const numbers = [...new Set(issued.map(({ body }) => String(body['number'])))].toSorted()
    const series = `CAL-${systemClock.now().getUTCFullYear()}`
    expect(numbers).to.deep.equal(['000001', '000002', '000003'].map((n) => `${series}-${n}`))
    const admins = hub().database.admin
    const copy = (number: number) =>
      admins.query(
        `INSERT INTO hub.document (series, number, kind, subject, principal, issued_at, content)
         SELECT series, $1, kind, 'copy', principal, issued_at, content FROM hub.document
         WHERE series = $2 LIMIT 1`,
        [number, series],
      )
    await rejects(copy(5), /foreign key/)
    await rejects(
      admins.query('DELETE FROM hub.document WHERE number = 3'),
      /append|change|refuse/i,
    )
    await rejects(
      admins.query("UPDATE hub.document SET subject = 'other'"),
      /append|change|refuse/i,
    )
    const content = { totals: { net_microdollars: 1, tax_microdollars: 0, gross_microdollars: 1 } }
    const forged = { ...content, lines: [{ ...content.totals, gross_microdollars: 2 }] }
    const values = ['CAL', 'call', 'forged', principal, JSON.stringify(forged)]
    const call = 'SELECT hub.issue_document($1, $2, $3, $4, $5)'
    await rejects(hub().hub.pool.query(call, values), /do not add up/)
  })

  it('state the refund of a call in a credit note that names its receipt', async () => {
    const fay = await createStaff(hub(), admin, 'fay@house.example', 'finance')
    const [call = ''] = calls
    expectRefused(await issue({ kind: 'credit-note', id: call }), 409, 'document_not_available')
    const body = { amount_microdollars: 40, reason: 'a test' }
    expect((await fay.ask(`/v1/finance/calls/${call}/refund`, { body })).status).to.equal(200)
    const receipt = (await issue({ kind: 'call', id: call })).body
    const note = (await issue({ kind: 'credit-note', id: call })).body
    expect(note).to.include({ preceding: receipt['number'] })
    expect(lineOf(note)).to.include({ gross_microdollars: 40 })
    expect(lineOf(receipt)).to.include({ gross_microdollars: 100 })
    const xml = (await as(`/v1/documents/${String(note['number'])}/ubl`)).text
    expect(xml).to.include('<CreditNote ').and.to.include(String(receipt['number']))
    const listed = dataOf(await fay.ask('/v1/finance/documents?limit=100'))
    expect(listed.map(({ number }) => number)).to.include(note['number'])
    expect((await fay.ask(`/v1/finance/documents/${String(note['number'])}/pdf`)).status).to.equal(
      200,
    )
  })

  it('state a month by service with balances that the ledger has', async () => {
    const month = monthName(systemClock.now())
    const early = await issue({ kind: 'statement', month })
    expectRefused(early, 409, 'document_not_available')
    const subject = `${principal}:${month}`
    const over = monthStart(systemClock.now(), 1).getTime()
    for (const ms of [0, 299_999]) {
      const clock = { now: () => new Date(over + ms) }
      const tooSoon = issueDocument({ ...deps(), clock }, [principal], 'statement', subject)
      await rejects(tooSoon, /last entries .* Nothing was issued: try again from .* 00:05 UTC/)
    }
    const { content, number } = await issueDocument(deps(31), [principal], 'statement', subject)
    expect(content.period?.from).to.equal(`${month}-01`)
    const lines = content.lines.map((line) => [
      line.description,
      line.quantity,
      line.gross_microdollars,
    ])
    expect(lines).to.deep.equal([
      ['echo of example: calls paid with credits', 3, 300],
      ['echo of example: refunds to credits', -1, -40],
    ])
    expect(content.totals).to.deep.equal({
      net_microdollars: 244 - 33,
      tax_microdollars: 56 - 7,
      gross_microdollars: 260,
    })
    const [table] = content.tables
    const amounts = table!.rows.map((row) => row.amount_microdollars)
    expect([amounts.at(0), amounts.at(-1)]).to.deep.equal([
      0,
      Number(await hub().balance(ada.keyId)),
    ])
    expect(table!.rows.map(({ name }) => name)).to.deep.equal([
      'Opening balance',
      'Calls, and reserved for calls in flight',
      'Refunds of calls',
      'Purchases',
      'Closing balance',
    ])
    expect(amounts.slice(0, -1).reduce((sum, each) => sum + each)).to.equal(amounts.at(-1))
    const xml = (await as(`/v1/documents/${number}/ubl`)).text
    expect(xml).to.include('<cbc:Value>0.000300</cbc:Value>').and.to.include('PL8567346215')
    const before = monthName(monthStart(systemClock.now(), -1))
    await fails(issueDocument(deps(31), [principal], 'statement', `${principal}:${before}`))
  })

  it('state what a wallet paid per request, and its refund', async () => {
    const eve = privateKeyToAccount(generatePrivateKey())
    await fund(hub().sandbox!.rpcUrl, eve.address, { usdc: usd('1') })
    const send = (headers = {}) =>
      ask(hub().url, '/proxy/echo/say', { body: { words: 'hi' }, headers })
    const payment = await payFor(eve, hub().url, await send())
    const response = await send({ 'payment-signature': payment })
    expect(response.status, response.text).to.equal(200)
    await eventually(async () => {
      await resolvePayments(hub().hub.paymentDeps, 0)
      const { rows } = await hub().hub.pool.query(
        "SELECT FROM hub.payment_claim WHERE payer = $1 AND state = 'confirmed'",
        [eve.address.toLowerCase()],
      )
      return rows.length === 1
    })
    const wallet = { account: eve, sandbox: true }
    const { apiKey } = await new HubClient({ baseUrl: hub().url, wallet }).register()
    await as('/v1/billing', BILLING, apiKey, 'PUT')
    await issue({ kind: 'call', id: calls[0] }) // stores the records of calls
    const { rows } = await hub().hub.pool.query<{ id: string; principal: string; charged: bigint }>(
      `SELECT c.id, p.id AS principal, c.charged FROM hub.call c
       JOIN hub.principal p ON c.principal = 'x402:' || p.wallet_address
       WHERE p.wallet_address = $1`,
      [eve.address.toLowerCase()],
    )
    const { id, principal: payer, charged } = rows[0]!
    const receipt = (await issue({ kind: 'call', id }, apiKey)).body
    expect(lineOf(receipt).gross_microdollars).to.equal(Number(charged))
    expectRefused(await issue({ kind: 'call', id }), 404, 'not_found')
    expectRefused(await as(`/v1/documents/${String(receipt['number'])}`), 404, 'not_found')
    const month = monthName(systemClock.now())
    const subject = `${payer}:${month}`
    const { content } = await issueDocument(deps(31), [payer], 'statement', subject)
    expect(content.lines.map((line) => [line.description, line.gross_microdollars])).to.deep.equal([
      ['echo of example: calls paid per request', Number(charged)],
    ])
  })

  it('download as the same PDF each time, and the command finds and checks them', async () => {
    const [newest] = dataOf(await as('/v1/documents?limit=1'))
    const path = `/v1/documents/${String(newest?.['number'])}/pdf`
    const [one, two] = [await as(path), await as(path)]
    expect(one.headers['content-type']).to.equal('application/pdf')
    expect(one.text.slice(0, 5)).to.equal('%PDF-')
    expect(one.text).to.equal(two.text)
    const stored = await findDocument(hub().hub.pool, String(newest?.['number']))
    const named = (name: string) => {
      const { content } = stored
      const customer = { ...content.customer, legal_name: name }
      return toPdf({ ...stored, content: { ...content, customer } })
    }
    for (const name of ['Łódź & Søn', 'Ελλάδα ΑΕ', 'ТОВ Україна', 'Հայ', 'e\u0301'])
      await named(name)
    for (const name of ['株式会社 Tokyo', '한국어', 'ไทย', 'شركة النور', 'שלום בע״מ']) {
      const error = await named(name).catch((reason: unknown) => reason)
      expect(error).to.be.instanceOf(Fault).and.to.include({ code: 'document_not_available' })
      expect((error as Fault).message).to.include(name)
    }
    const run = async (...args: string[]): Promise<[number, string]> => {
      let text = ''
      const write = (part: string) => (text += part)
      return [await ledgerCommand(async () => hub().hub.pool, ['documents', ...args], write), text]
    }
    expect((await run())[1])
      .to.include('credit-note')
      .and.to.include('Ada Łódź')
    const { admin: owner } = hub().database
    await owner.query('ALTER TABLE hub.document DISABLE TRIGGER append_only')
    const { rowCount } = await owner.query(
      `UPDATE hub.document SET content = jsonb_set(content, path, '"credits.purchased"')
       FROM (VALUES ('{tables,0,rows,3,name}'::text[])) v (path)
       WHERE content #>> path = 'Purchases'`,
    )
    expect(rowCount, 'named as by older versions').to.equal(1)
    expect(await run('--check')).to.deep.equal([0, 'All documents agree with the journal.\n'])
    await owner.query(
      `UPDATE hub.document SET content = jsonb_set(content, '{lines,0,gross_microdollars}', '99')
       WHERE kind = 'call' AND number = 1`,
    )
    const [code, text] = await run('--check')
    expect(code).to.equal(1)
    expect(text).to.match(/^BAD {2}CAL-\d{4}-000001: line 1 is .*"gross":100/)
  })
})

const lineOf = (body: Json) => (body['lines'] as DocumentContent['lines'])[0]!

async function rejects(work: Promise<unknown>, message: RegExp): Promise<void> {
  const error = await work.then(
    () => undefined,
    (reason: Error) => reason,
  )
  expect(error?.message).to.match(message)
}

async function fails(work: Promise<unknown>): Promise<void> {
  const error = await work.catch((reason: unknown) => reason)
  expect(error).to.be.instanceOf(Fault).and.to.include({ code: 'document_not_available' })
}
