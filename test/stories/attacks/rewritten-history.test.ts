import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { operator, withAudit } from '../../../core/audit/record.ts'
import { exportCheckpoints, splitNotes } from '../../../core/ledger/checkpoint.ts'
import { closePeriod } from '../../../core/ledger/history/period.ts'
import { RetainedCheckpoints } from '../../../core/ledger/retained-checkpoints.ts'
import { verifySince } from '../../../core/ledger/verify/incremental.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { createLog } from '../../../core/log.ts'
import { OutgoingSwitch } from '../../../core/payments/operations/outgoing-switch.ts'
import { verifyLedgerJob } from '../../../jobs/verify-ledger.ts'
import { order, sampleLedger } from '../../core/ledger/fixture.ts'
import {
  broken,
  newSigner,
  pinned,
  REWRITE,
  REWRITE_SUMS,
  tamper,
} from '../../core/ledger/verify/tampering.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'

/** Recomputes all hashes and balances, and removes the checkpoints in the database. */
const HIDE = [
  ...REWRITE,
  'DELETE FROM ledger.checkpoint',
  'DELETE FROM ledger.verified_balance',
] as const
const REHASH_AUDIT = `DO $$
  DECLARE l hub.audit; last bytea := decode(repeat('00', 32), 'hex');
  BEGIN
  FOR l IN SELECT * FROM hub.audit ORDER BY seq LOOP
    l.prev := last;
    last := hub.audit_hash(l);
    UPDATE hub.audit SET prev = l.prev, hash = last WHERE seq = l.seq;
  END LOOP; END $$`
const REWRITTEN = /the seal differs: history was rewritten/
const CUT_OFF = /its seal is missing: history was cut off or rewritten/

interface Place {
  /** Sequence number of the first checkpoint. */
  readonly first: bigint
  readonly last: bigint
  /** Accounts of the agent and the provider. */
  readonly agent: bigint
  readonly provider: bigint
}

/** Changes of a superuser, and how each is reported with a stored checkpoint. */
const WAYS: Readonly<Record<string, readonly [(place: Place) => readonly string[], RegExp]>> = {
  'the payee of a call': [
    () => ['UPDATE ledger.journal SET payee = 3 WHERE seq > 1 AND payee > 1000', ...HIDE],
    REWRITTEN,
  ],
  'the amount of a purchase': [
    ({ agent }) => [
      `UPDATE ledger.journal SET amounts = '{-9000000,9000000}'
       WHERE seq = 1 AND accounts[2] = ${agent}`,
      ...HIDE,
    ],
    REWRITTEN,
  ],
  'the outcome of a call': [
    ({ first }) => [
      `UPDATE ledger.journal SET kind = 3, rest = rest + amount, amount = 0, fee = 0
       WHERE seq > ${first} AND kind = 2`,
      ...HIDE,
    ],
    REWRITTEN,
  ],
  'the value date of an entry': [
    () => [
      `UPDATE ledger.journal SET effective_at =
         (at AT TIME ZONE 'UTC' - interval '1 hour') AT TIME ZONE 'UTC' WHERE seq = 1`,
      ...HIDE,
    ],
    REWRITTEN,
  ],
  'a suffix, with the checkpoints in it': [
    ({ first }) => [
      `UPDATE ledger.journal SET payee = 3 WHERE seq > ${first} AND payee > 1000`,
      ...REWRITE,
      `DELETE FROM ledger.checkpoint WHERE seq > ${first}`,
      ...REWRITE_SUMS,
    ],
    REWRITTEN,
  ],
  'the end, which is cut off': [
    ({ first }) => [
      `DELETE FROM ledger.journal WHERE seq > ${first}`,
      `DELETE FROM ledger.seal WHERE seq_to > ${first}`,
      `UPDATE ledger.head SET seq = ${first}, hash = '\\x01'`,
      ...REWRITE,
      `DELETE FROM ledger.checkpoint WHERE seq > ${first}`,
      ...REWRITE_SUMS,
    ],
    CUT_OFF,
  ],
  'a checkpoint, which is deleted': [
    ({ first }) => [`DELETE FROM ledger.checkpoint WHERE seq > ${first}`, ...REWRITE_SUMS],
    /checkpoint of seq \d+: it was deleted from the database/,
  ],
  'a checkpoint, which says something else': [
    () => [
      `UPDATE ledger.checkpoint SET hash = sha256(hash), note = replace(note, 'at 2', 'at 3')`,
    ],
    /the row and its note differ/,
  ],
  'the closed month': [
    () => [
      `UPDATE ledger.journal SET meta = jsonb_set(meta, '{month}', '"2019-01"') WHERE owner = 60`,
      `UPDATE ledger.head SET open_since = '2019-02-01Z'`,
      ...HIDE,
    ],
    REWRITTEN,
  ],
  'a line of the audit log': [
    () => [`UPDATE hub.audit SET name = 'nobody' WHERE seq = 1`, REHASH_AUDIT, ...HIDE],
    /line \d of the audit log was changed or removed/,
  ],
  'the newest line of the audit log, which is removed': [
    () => ['DELETE FROM hub.audit WHERE seq = 2', ...HIDE],
    /line 2 of the audit log was changed or removed/,
  ],
  'balances, with the verified ones': [
    ({ agent, provider }) =>
      ['balance', 'verified_balance'].map(
        (table) => `UPDATE ledger.${table} SET balance = balance +
           CASE account WHEN ${agent} THEN -5 ELSE 5 END WHERE account IN (${agent}, ${provider})`,
      ),
    /the verified balances match the signed ones/,
  ],
  'the names of two accounts': [
    ({ agent, provider }) => [
      `UPDATE ledger.account SET code = code || '-old' WHERE id = ${agent}`,
      `UPDATE ledger.account SET code = (SELECT replace(code, '-old', '') || '2'
         FROM ledger.account WHERE id = ${agent}) WHERE id = ${provider}`,
      'DELETE FROM ledger.checkpoint',
      'DELETE FROM ledger.verified_balance',
    ],
    /the verified balances match the signed ones|rule of its event/,
  ],
  'the id of the ledger': [
    () => [
      'UPDATE ledger.identity SET id = gen_random_uuid()',
      'UPDATE ledger.journal SET payee = 3 WHERE seq > 1 AND payee > 1000',
      ...HIDE,
    ],
    /of another ledger|the database names ledger/,
  ],
}

describe('a superuser of the database who rewrites', () => {
  const key = newSigner()
  const log = createLog('silent')
  let database: FreshDatabase
  let dataDir: string

  beforeEach(async () => {
    database = await freshDatabase()
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-test-'))
  })
  afterEach(async () => {
    await database.drop()
    await rm(dataDir, { recursive: true, force: true })
  })

  const retained = () => new RetainedCheckpoints(dataDir)
  const since = () => verifySince(database.pool, { key, retained: retained() })
  async function notes(): Promise<string> {
    let text = ''
    for await (const note of exportCheckpoints(database.pool)) text += note
    return text
  }

  /** Posts entries and acts, and signs two checkpoints. */
  async function prepare(): Promise<Place> {
    const { pool } = database
    const act = (subject: string) =>
      withAudit(pool, operator('olga'), 'a test', async (_, note) =>
        note({ act: 'key.freeze', subject }),
      )
    const { ledger, owner, payee } = await sampleLedger(pool)
    await act('one')
    await closePeriod(pool, '2026-01', 'olga')
    expect(broken(await since())).to.deep.equal({})
    const head = async () => (await pool.query<{ seq: bigint }>('SELECT seq FROM ledger.head')).rows
    const [{ seq: first }] = (await head()) as [{ seq: bigint }]
    const call = order(owner, payee, 50n)
    await ledger.reserve(call)
    await ledger.settle(call, 40n)
    await act('two')
    expect(broken(await since())).to.deep.equal({})
    const [{ seq: last }] = (await head()) as [{ seq: bigint }]
    return { first, last, agent: owner.id, provider: payee.id }
  }

  for (const [what, [statements, found]] of Object.entries(WAYS)) {
    it(`${what} is found by verify with a stored checkpoint, and by the hub`, async () => {
      const place = await prepare()
      const checkpoints = await notes()
      const trust = { checkpoints, keys: [pinned(key)] }
      expect(broken(await verifyLedger(database.pool, trust))).to.deep.equal({})
      await tamper(database, ...statements(place))

      const report = (violations: Record<string, string>) => JSON.stringify(violations)
      expect(report(broken(await verifyLedger(database.pool, trust)))).to.match(found)
      await verifyLedgerJob({
        pool: database.pool,
        signingKey: key,
        retained: retained(), // of a process that was started again
        log,
      })
      const { rows } = await database.pool.query<{ failures: string[] }>(
        'SELECT failures FROM ledger.verification',
      )
      expect(rows[0]!.failures.join('\n')).to.match(found)
      expect(await new OutgoingSwitch(database.pool).state()).to.include({ paused: true })
      const signed = splitNotes(await notes()).filter((note) => !note.includes('\nat 3'))
      expect(signed.filter((note) => !checkpoints.includes(note))).to.deep.equal([])
    })
  }

  it('history with a key of their own signs in vain', async () => {
    await prepare()
    const checkpoints = await notes()
    await tamper(
      database,
      'UPDATE ledger.journal SET payee = 3 WHERE seq > 1 AND payee > 1000',
      ...HIDE,
    )
    await verifySince(database.pool, { key: newSigner() })
    const forged = /not signed by a trusted key/
    const trust = { checkpoints, keys: [pinned(key)] }
    const inDatabase = broken(await verifyLedger(database.pool, { keys: trust.keys }))
    expect(JSON.stringify(inDatabase)).to.match(forged)
    expect(JSON.stringify(broken(await verifyLedger(database.pool, trust)))).to.match(forged)
    expect(JSON.stringify(broken(await since()))).to.match(forged)
  })
})
