import { expect } from 'chai'
import { monthName, systemClock } from '../../core/clock.ts'
import { Fault } from '../../core/errors.ts'
import { findBillingParty } from '../../core/finance/documents/billing.ts'
import { checkDocuments } from '../../core/finance/documents/check.ts'
import { issueDocument } from '../../core/finance/documents/issue.ts'
import { ask } from '../support/ask.ts'
import type { TestHub } from '../support/hub.ts'
import { refused } from '../support/webhook-fixture.ts'

/** Issues the statement of a provider for this month: three calls for $1.20, paid out. */
export async function expectStatement(hub: TestHub, owner: string, buyer: string): Promise<void> {
  const { pool } = hub.hub
  const month = monthName(systemClock.now())
  const order = { kind: 'earnings', month }
  const ordered = (key: string) => ask(hub.url, '/v1/documents', { key, body: order })
  refused(await ordered(owner), 409, 'document_not_available')
  refused(await ordered(buyer), 404, 'not_found')
  const { rows } = await pool.query<{ principal: string }>(
    "SELECT owner AS principal FROM hub.provider WHERE id = 'vendor-co'",
  )
  const { principal } = rows[0]!
  const supplier = await findBillingParty(pool, [principal])
  const clock = { now: () => new Date(systemClock.now().getTime() + 31 * 86_400_000) }
  const tax = { category: 'S', rate_bps: 2_300, reason: null } as const
  const issue = (owners: readonly [string]) =>
    issueDocument({ pool, clock, tax, supplier }, owners, 'earnings', `vendor-co:${month}`)
  const document = await issue([principal])
  expect(document.number).to.match(/^ERN-\d{4}-000001$/)
  const amounts = document.content.lines.map((line) => line.gross_microdollars)
  expect(amounts, 'before netting').to.deep.equal([1_200_000, -120_000, 0, 0])
  const balances = document.content.tables[0]!.rows.map((row) => row.amount_microdollars)
  expect(balances).to.deep.equal([0, 1_080_000, 0, 0, 0, -1_080_000, 0])
  expect(document.content.notes.join(' ')).to.include('rounded down at each call')
  expect(await checkDocuments(pool, [document])).to.deep.equal(new Map())
  const download = (format: string) =>
    ask(hub.url, `/v1/documents/${document.number}/${format}`, { key: owner })
  expect((await download('pdf')).status).to.equal(200)
  refused(await download('ubl'), 409, 'document_not_available')
  const other = await issue(['prn_other']).catch((error: unknown) => error)
  expect(other).to.be.instanceOf(Fault).and.to.include({ code: 'not_found' })
}
