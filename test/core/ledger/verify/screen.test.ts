import { expect } from 'chai'
import * as fc from 'fast-check'
import type { PoolClient } from 'pg'
import {
  orderChecks,
  outcomeChecks,
  rowChecks,
  type Scope,
  shardScope,
} from '../../../../core/ledger/verify/checks.ts'
import { Findings, type Verification } from '../../../../core/ledger/verify/findings.ts'
import { runChecks } from '../../../../core/ledger/verify/run-checks.ts'
import { checkNewEntries } from '../../../../core/ledger/verify/screen.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { sampleLedger, untilDeadline } from '../fixture.ts'
import { REWRITE } from './tampering.ts'

/** Changes of a column of a row, as SQL. */
const CHANGES: Readonly<Record<string, readonly string[]>> = {
  seq: ['seq + 1', 'seq - 1', 'seq + 100'],
  owner: ['999999', '31', 'payee'],
  id: ['gen_random_uuid()'],
  at: [`at + interval '1 second'`],
  amount: ['amount + 1', 'amount - 1', '0', '-1', '9223372036854775807', '-9223372036854775808'],
  rest: ['rest + 1', '0', '-1', '9223372036854775807', '-9223372036854775808'],
  fee: ['fee + 1', '0', '-1', 'amount + 1', '-9223372036854775808'],
  payee: ['999999', '31', 'owner'],
  expires_at: ['NULL', 'at'],
  endpoint: ['endpoint + 1'],
  price_version: ['price_version + 1'],
  bps: ['bps + 1', '0', '-1', '10001', '32767'],
  asset: ['3', '4', '99'],
  kind: ['1', '2', '3', '4', '0', '5', '16', '29', '99'],
  phase: ['0', '1', '2', '3'],
  guards: ['NULL', '{}', '{31}'].map((value) => (value === 'NULL' ? value : `'${value}'`)),
  accounts: ['NULL', `'{1,2}'`],
  amounts: ['NULL', `'{1,-1}'`],
  leaf: [`'\\x00'`],
}

const rowChange = fc
  .constantFrom(...Object.keys(CHANGES))
  .chain((column) => fc.tuple(fc.constant(column), fc.constantFrom(...CHANGES[column]!)))
  .map(([column, value]) => (seq: number) => [
    `UPDATE ledger.journal SET ${column} = ${value} WHERE seq = ${seq}`,
  ])

const copyOf = (seq: number, columns: string): string =>
  `INSERT INTO ledger.journal SELECT (jsonb_populate_record(j, ${columns})).*
   FROM ledger.journal j WHERE seq = ${seq}`

/** Changes of whole rows, seals and reference data. */
const OTHERS: readonly ((seq: number) => readonly string[])[] = [
  (seq) => [`DELETE FROM ledger.journal WHERE seq = ${seq}`],
  (seq) => [copyOf(seq, `'{}'`)],
  (seq) => [copyOf(seq, `'{"seq": 99}'`)],
  (seq) => [copyOf(seq, '(SELECT jsonb_build_object($$seq$$, h.seq + 1) FROM ledger.head h)')],
  (seq) => [`UPDATE ledger.seal SET seq_to = seq_to + 1 WHERE seq_to >= ${seq}`],
  (seq) => [`UPDATE ledger.seal SET hash = '\\x01' WHERE seq_from <= ${seq} AND seq_to >= ${seq}`],
  (seq) => [`UPDATE ledger.seal SET at = at + '1s' WHERE seq_from <= ${seq} AND seq_to >= ${seq}`],
  (seq) => [`DELETE FROM ledger.seal WHERE seq_from <= ${seq} AND seq_to >= ${seq}`],
  () => ['UPDATE ledger.head SET seq = seq + 1'],
  () => ['UPDATE ledger.kind SET phase = 2 WHERE id = 1'],
  () => ['DELETE FROM ledger.kind WHERE id = 3'],
  () => ['UPDATE ledger.account SET asset = 3 WHERE id = 2'],
  () => ['UPDATE ledger.account SET asset = 3 WHERE id = 1'],
  (seq) => [
    `UPDATE ledger.journal SET seq = ${seq} + ${seq + 1} - seq
    WHERE seq IN (${seq}, ${seq + 1})`,
  ],
]

describe('the screen of new entries', () => {
  let database: FreshDatabase
  let client: PoolClient

  before(async () => {
    database = await freshDatabase()
    await sampleLedger(database.pool)
    await database.admin.query(
      `ALTER TABLE ledger.journal DROP CONSTRAINT journal_pkey CASCADE,
         DROP CONSTRAINT journal_step, DROP CONSTRAINT journal_amounts;
       DROP INDEX ledger.journal_late`,
    )
    client = await database.admin.connect()
  })
  after(async () => {
    client.release()
    await database.drop()
  })

  const runAll = (scope: Scope, findings: Findings): Promise<void> => {
    const checks = { ...rowChecks(scope), ...orderChecks(scope), ...outcomeChecks(scope) }
    return runChecks(client, checks, findings)
  }
  const runScreen = (scope: Scope, findings: Findings): Promise<void> =>
    checkNewEntries(client, { shard: 0, scope }, findings)

  /** Returns the result of checks, or the error of a number that is out of range. */
  async function resultOf(run: typeof runAll, scope: Scope): Promise<Verification | string> {
    const findings = new Findings()
    await client.query('SAVEPOINT checks')
    try {
      await run(scope, findings)
      return findings.result()
    } catch (error) {
      await client.query('ROLLBACK TO checks')
      return String(error)
    }
  }

  /** Changes the ledger; returns false if that is impossible. */
  async function change(statements: readonly string[]): Promise<boolean> {
    try {
      for (const sql of statements) await client.query(sql)
      return true
    } catch {
      return false
    }
  }

  /**
   * Changes the ledger, compares both ways to verify it, and rolls the changes back.
   * @returns true if there is a violation
   */
  async function compare(statements: readonly string[], link: number): Promise<boolean> {
    await client.query('BEGIN; SET LOCAL session_replication_role = replica')
    try {
      if (!(await change(statements))) return false
      const { rows } = await client.query<{ seq_to: bigint; hash: Buffer }>(
        `SELECT seq_to, hash FROM ledger.seal UNION ALL SELECT 0, '\\x00' ORDER BY 1`,
      )
      const { seq_to: after, hash } = rows[link % rows.length]!
      const scope = shardScope(0, { after, hash })
      const expected = await resultOf(runAll, scope)
      expect(await resultOf(runScreen, scope), statements[0]).to.deep.equal(expected)
      return typeof expected === 'string' || !expected.ok
    } finally {
      await client.query('ROLLBACK')
    }
  }

  it('passes a sound ledger, from every seal on', async () => {
    const { rows } = await client.query<{ links: number }>(
      'SELECT count(*)::integer AS links FROM ledger.seal',
    )
    for (let link = 0; link <= rows[0]!.links; link++)
      expect(await compare([], link)).to.equal(false)
  })

  it('finds what the checks find, however the ledger was tampered with', async () => {
    const { rows } = await client.query<{ head: number }>(
      'SELECT seq::integer AS head FROM ledger.head',
    )
    let broken = 0
    await fc.assert(
      fc.asyncProperty(
        fc.oneof({ weight: 4, arbitrary: rowChange }, fc.constantFrom(...OTHERS)),
        fc.integer({ min: 1, max: rows[0]!.head }),
        fc.boolean(),
        fc.nat({ max: 20 }),
        untilDeadline(async (tampering, seq, isForged, link) => {
          const forgery = isForged ? REWRITE.slice(0, 2) : []
          if (await compare([...tampering(seq), ...forgery], link)) broken++
        }),
      ),
      { numRuns: 400 },
    )
    expect(broken).to.be.above(10)
  })
})
