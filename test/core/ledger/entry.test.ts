import { expect } from 'chai'
import * as fc from 'fast-check'
import { systemClock } from '../../../core/clock.ts'
import { COLUMNS, type JournalEntry, legsOf, parseEntry } from '../../../core/ledger/entry.ts'
import { copyLines } from '../../../core/ledger/export/copy-lines.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { DEBTOR, eventSamples, fundAssets, PRICE } from './event-samples.ts'
import { micros, newId, openProvider, order, sampleLedger } from './fixture.ts'

const seed = systemClock.now().getTime() % 2 ** 31
const ROWS = 2_000

const units = fc.bigInt({ min: 0n, max: 10n ** 12n })
const id = fc.bigInt({ min: 1_000n, max: 1_100n }).map(String)
const step = fc.record({
  phase: fc.constantFrom(1, 2),
  asset: fc.constantFrom(1, 3, 4),
  owner: id,
  payee: id,
  charged: units,
  rest: units,
  bps: fc.bigInt({ min: 0n, max: 10_000n }),
  guards: fc.option(fc.array(id, { maxLength: 4 })),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
const legs = fc.array(fc.tuple(id, units), { minLength: 2, maxLength: 8 })

/** The columns that determine the legs. */
type Row = Pick<JournalEntry, Terms | 'accounts' | 'amounts'>
type Terms = 'owner' | 'payee' | 'amount' | 'rest' | 'fee' | 'asset' | 'phase' | 'guards'

const row = fc.oneof(
  { arbitrary: step.map(ofCall), weight: 3 },
  { arbitrary: legs.map(ofSingleStep), weight: 1 },
)

function ofCall({ charged, rest, bps, ...terms }: Step): Row {
  const given = terms.phase === 1 ? { rest: 0n, fee: 0n } : { rest, fee: (charged * bps) / 10_000n }
  return { ...terms, amount: charged, ...given, accounts: null, amounts: null }
}

function ofSingleStep(pairs: readonly (readonly [string, bigint])[]): Row {
  const none = { amount: 0n, rest: 0n, fee: 0n, guards: null }
  const accounts = pairs.map(([account]) => account)
  const amounts = pairs.map(([, amount], i) => (i % 2 === 0 ? amount + 1n : -amount - 1n))
  return { owner: accounts[0]!, payee: '0', asset: 1, phase: 0, ...none, accounts, amounts }
}

describe('a parsed row of the journal', () => {
  let database: FreshDatabase

  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  it(`has the same legs as in the database (seed ${seed})`, async () => {
    const rows = fc.sample(row, { numRuns: ROWS, seed })
    const list = (values: readonly unknown[] | null) => values && `{${values.join(',')}}`
    const { rows: found } = await database.pool.query<{ legs: string[] | null }>(
      `SELECT (SELECT array_agg(concat(l.account, ' ', l.amount) ORDER BY l.n)
         FROM ledger.legs(jsonb_populate_record(NULL::ledger.journal, r.row)) l) AS legs
       FROM jsonb_array_elements($1) WITH ORDINALITY r(row, n) ORDER BY r.n`,
      [
        JSON.stringify(
          rows.map(({ guards, accounts, amounts, ...rest }) => ({
            ...rest,
            guards: list(guards),
            accounts: list(accounts),
            amounts: list(amounts),
          })),
          (_, value) => (typeof value === 'bigint' ? String(value) : value),
        ),
      ],
    )
    for (const [i, { legs }] of found.entries()) {
      const expected = legsOf(rows[i] as JournalEntry).map(
        ({ account, amount }) => `${account} ${amount}`,
      )
      expect(
        expected,
        JSON.stringify(rows[i], (_, v) => String(v)),
      ).to.deep.equal(legs ?? [])
    }
  })

  it('is read as posted, for every kind, with the postings of the view', async () => {
    const { ledger, owner, payee } = await sampleLedger(database.pool)
    const sellers = await ledger.account('liabilities:x402-out:in-transit')
    for (const earner of [payee, sellers]) {
      const paid = order(owner, earner, 100n, { commissionBps: 0 })
      await ledger.reserve(paid)
      await ledger.settle(paid, 100n)
    }
    const other = await ledger.open('liabilities:agents:key_other:credits', 'USDC', { home: 0 })
    const free = await ledger.open('liabilities:free-calls:other', 'FREECALL', { home: 0 })
    const earnings = (await openProvider(ledger, 'acme')).code
    const parties = { credits: owner.code, other: other.code, free: free.code, earnings }
    const meta = {
      author: 'a\tb\\ "c" \u{1F4B6}',
      reason: 'line\nbreak',
      provider: DEBTOR,
      ...PRICE,
    }
    await fundAssets(ledger)
    for (const { event } of eventSamples(parties))
      await ledger.post(event, { owner, id: newId(), meta })
    const gift = { type: 'credits.granted', credits: owner.code, amount: micros(1n) } as const
    await ledger.post(gift, { owner, id: newId(), effectiveAt: new Date('2026-11-02T03:04:05Z') })

    const entries: JournalEntry[] = []
    const select = `SELECT ${COLUMNS} FROM ledger.journal ORDER BY seq`
    for await (const lines of copyLines(database.pool, select)) {
      entries.push(...lines.map(parseEntry))
    }
    const { rows } = await database.pool.query<{ meta: string | null; leaf: string; at: string }>(
      `SELECT meta::text AS meta, encode(leaf, 'hex') AS leaf,
         to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
       FROM ledger.journal ORDER BY seq`,
    )
    expect(entries.map(({ meta, leaf, at }) => ({ meta, leaf, at }))).to.deep.equal(rows)
    const { rows: postings } = await database.pool.query<{ line: string }>(
      `SELECT concat_ws(' ', seq, account_id, amount) AS line FROM ledger.posting ORDER BY seq, n`,
    )
    const expected = entries.flatMap((entry) =>
      legsOf(entry).map(({ account, amount }) => `${entry.seq} ${account} ${amount}`),
    )
    expect(expected).to.deep.equal(postings.map(({ line }) => line))
    expect(new Set(entries.map(({ kind }) => kind)).size).to.be.above(25)
  })
})
