import { expect } from 'chai'
import * as fc from 'fast-check'
import type { JournalEntry } from '../../../../core/ledger/entry.ts'
import { leafOf, parseInstant } from '../../../../core/ledger/verify/leaf.ts'
import { EVENT_RULES } from '../../../../core/ledger/verify/rules.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'

const RUNS = 400

const int8 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const int2 = fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 })
const int4 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
/** Instants of the years 1 to 9999, with microseconds. */
const instant = fc
  .record({
    at: fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59Z'),
      noInvalidDate: true,
    }),
    micros: fc.nat(999),
  })
  .map(({ at, micros }) => at.toISOString().replace('Z', `${String(micros).padStart(3, '0')}Z`))
const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 3 })
/** JSON text in any formatting; PostgreSQL normalizes it. */
const json = fc
  .record({
    value: fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 }),
    indent: fc.constantFrom(0, 1, '\t'),
  })
  .map(({ value, indent }) => JSON.stringify(value, undefined, indent))
  .filter((text) => !text.includes('\\u0000'))

const ids = fc.array(int8.map(String), { maxLength: 9 })
const row: fc.Arbitrary<JournalEntry> = fc.record({
  id: fc.uuid(),
  owner: int8.map(String),
  seq: int8,
  at: instant,
  amount: int8,
  rest: int8,
  fee: int8,
  payee: int8.map(String),
  expiresAt: nullable(instant),
  endpoint: int4,
  priceVersion: int4,
  bps: int2,
  asset: int2,
  shard: int2,
  kind: int2,
  phase: int2,
  guards: nullable(ids),
  accounts: nullable(ids),
  amounts: nullable(fc.array(int8, { maxLength: 9 })),
  effectiveAt: nullable(instant),
  meta: nullable(json),
  leaf: fc.constant(''),
})

describe('the leaf of a row computed without the database', () => {
  let database: FreshDatabase
  before(async () => {
    database = await freshDatabase()
  })
  after(() => database.drop())

  it('equals ledger.leaf for any values of every column', async () => {
    const rows = fc.sample(row, RUNS)
    for (const entry of rows) {
      const { rows: found } = await database.pool.query<{ leaf: string; meta: string | null }>(
        {
          name: 'leaf',
          text: `SELECT encode(ledger.leaf(r.j), 'hex') AS leaf, (r.j).meta::text AS meta
            FROM (SELECT ROW($1::uuid, $2::bigint, $3::bigint, $4::timestamptz, $5::bigint,
              $6::bigint, $7::bigint, $8::bigint, $9::timestamptz, $10::integer, $11::integer,
              $12::smallint, $13::smallint, $14::smallint, $15::smallint, $16::smallint,
              $17::bigint[], $18::bigint[], $19::bigint[], $20::timestamptz, $21::jsonb,
              NULL)::ledger.journal AS j) r`,
        },
        Object.values(entry).slice(0, 21),
      )
      const printed = { ...entry, meta: found[0]!.meta }
      expect(
        leafOf(printed),
        JSON.stringify(printed, (_, v) => String(v)),
      ).to.equal(found[0]!.leaf)
    }
    expect(rows.some(({ meta }) => /[^\x20-\x7e]/.test(meta ?? ''))).to.equal(true)
    expect(rows.some(({ at }) => at < '2000')).to.equal(true)
  })

  it('accepts only one format of an instant', () => {
    expect(parseInstant('2000-01-01T00:00:00.000001Z')).to.equal(1n)
    expect(parseInstant('1999-12-31T23:59:59.999999Z')).to.equal(-1n)
    expect(parseInstant('12345-01-01T00:00:00.000000Z')).to.equal(326_456_697_600_000_000n)
    for (const text of [
      '2026-02-30T00:00:00.000000Z',
      '2026-11-21T24:00:00.000000Z',
      '2026-11-21T06:04:32.123Z',
      '2026-11-21 06:04:32.123456Z',
      '2026-11-21T06:04:32.123456+00',
      '012345-01-01T00:00:00.000000Z',
      'infinity',
    ]) {
      expect(parseInstant(text), text).to.equal(undefined)
    }
  })

  it('comes with the same event rules as the database', async () => {
    const { rows } = await database.pool.query<{ id: number; rule: unknown }>(
      `SELECT id, json_strip_nulls(json_build_object('event', event, 'phase', phase,
         'debits', array_to_string(debits, ','), 'credits', array_to_string(credits, ','),
         'needs', needs)) AS rule
       FROM ledger.kind ORDER BY id`,
    )
    expect(Object.fromEntries(rows.map(({ id, rule }) => [id, rule]))).to.deep.equal(EVENT_RULES)
  })
})
