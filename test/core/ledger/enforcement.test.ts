import { expect } from 'chai'
import { Ledger } from '../../../core/ledger/ledger.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { newId, openAgent, sampleLedger } from './fixture.ts'

const APPEND_ONLY = [
  'journal',
  'seal',
  'account',
  'asset',
  'kind',
  'idempotency',
  'chunk',
  'snapshot',
  'day_end',
  'identity',
  'signing_key',
  'checkpoint',
  'tile',
  'tree',
  'signed_head',
  'heads_checkpoint',
] as const
const TABLES = [...APPEND_ONLY, 'balance', 'head', 'verified_balance'] as const

/** Rules that the database enforces independently of the code. */
describe('the database', () => {
  let database: FreshDatabase
  let ledger: Ledger
  let partitions: string[]

  before(async () => {
    database = await freshDatabase()
    ledger = (await sampleLedger(database.pool)).ledger
    const { rows } = await database.admin.query<{ name: string }>(
      `SELECT inhrelid::regclass::text AS name FROM pg_inherits
       WHERE inhparent = 'ledger.journal'::regclass`,
    )
    partitions = rows.map(({ name }) => name)
  })
  after(async () => {
    expect((await verifyLedger(database.pool)).ok).to.equal(true)
    await database.drop()
  })

  const failure = async (sql: string, as: 'pool' | 'admin'): Promise<string> =>
    database[as].query(sql).then(
      () => 'allowed',
      (error: Error) => error.message,
    )

  it("lets the hub's role read the ledger but write none of its tables", async () => {
    const names = [...TABLES.map((name) => `ledger.${name}`), ...partitions]
    for (const name of names) {
      const statements = [
        `INSERT INTO ${name} DEFAULT VALUES`,
        `UPDATE ${name} SET ${await anyColumn(name)}`,
        `DELETE FROM ${name}`,
        `TRUNCATE ${name}`,
      ]
      for (const sql of statements) {
        expect(await failure(sql, 'pool'), sql).to.match(/^permission denied for/)
      }
      expect(await failure(`SELECT FROM ${name}`, 'pool')).to.equal('allowed')
    }
  })

  async function anyColumn(table: string): Promise<string> {
    const { rows } = await database.admin.query<{ name: string }>(
      `SELECT attname AS name FROM pg_attribute
       WHERE attrelid = $1::regclass AND attnum = 1`,
      [table],
    )
    return `${rows[0]!.name} = ${rows[0]!.name}`
  }

  const functionsOf = async (role: string): Promise<readonly string[]> => {
    const { rows } = await database.admin.query<{ name: string }>(
      `SELECT proname AS name FROM pg_proc WHERE pronamespace = 'ledger'::regnamespace
       AND has_function_privilege($1, oid, 'EXECUTE') ORDER BY 1`,
      [role],
    )
    return rows.map(({ name }) => name)
  }

  it('lets only the role of finance post entries, move holds and close months', async () => {
    const serving = await functionsOf('hub_app')
    const posting = (await functionsOf('hub_finance')).filter((name) => !serving.includes(name))
    expect(posting).to.deep.equal(['apply', 'close_period', 'post', 'post_batch'])
  })

  it("lets the hub's role run the public ledger functions only", async () => {
    expect(await functionsOf('hub_app')).to.deep.equal([
      'account_group',
      'add_checkpoint',
      'add_cosignature',
      'add_heads_checkpoint',
      'add_signed_head',
      'add_signing_key',
      'balance_after',
      'balances_hash',
      'booked_at',
      'by_group',
      'charges_between',
      'chunk_ids',
      'claim_key',
      'credited_at',
      'cut',
      'earnings_of',
      'end_days',
      'ensure_partitions',
      'entries_of',
      'entry_at',
      'entry_of',
      'extend_tree',
      'first_id',
      'groups_at',
      'held_at',
      'hold_still',
      'holds_account',
      'ids_between',
      'journal_balances_hash',
      'late',
      'late_at',
      'late_entries',
      'leaf',
      'legs',
      'movements',
      'next_entries',
      'open_account',
      'open_shard',
      'open_since',
      'owed_refunds',
      'owners_of',
      'record_full_verification',
      'record_verification',
      'statement',
      'sum_up',
      'sums_at',
      'take_snapshots',
      'totals_at',
      'verified_at',
      'wrong_day_ends',
      'wrong_snapshots',
    ])
  })

  it('refuses changes of history even by its owner, also in a partition', async () => {
    for (const name of [...APPEND_ONLY.map((table) => `ledger.${table}`), ...partitions]) {
      const set = await anyColumn(name)
      for (const sql of [
        `UPDATE ${name} SET ${set}`,
        `DELETE FROM ${name}`,
        `TRUNCATE ${name} CASCADE`,
      ]) {
        const { rowCount } = await database.admin.query(`SELECT FROM ${name} LIMIT 1`)
        if (rowCount === 0 && !sql.startsWith('TRUNCATE')) continue // a row trigger needs a row
        expect(await failure(sql, 'admin'), sql).to.match(/^the ledger is append-only/)
      }
    }
  })

  it('protects every partition by a row and a truncate trigger, also future ones', async () => {
    await database.admin.query('SELECT ledger.ensure_partitions(30)')
    const { rows } = await database.admin.query<{ name: string; guards: number }>(
      `SELECT i.inhrelid::regclass::text AS name, (SELECT count(*) FROM pg_trigger t
         WHERE t.tgrelid = i.inhrelid AND t.tgfoid = 'ledger.refuse_change'::regproc
           AND t.tgenabled = 'O' AND t.tgtype IN (27, 34))::integer AS guards
       FROM pg_inherits i WHERE i.inhparent = 'ledger.journal'::regclass`,
    ) // 27: BEFORE UPDATE OR DELETE FOR EACH ROW; 34: BEFORE TRUNCATE
    expect(rows.length).to.be.above(30)
    expect(rows.filter(({ guards }) => guards !== 2)).to.deep.equal([])
    const grants = await database.admin.query(
      `SELECT 1 FROM pg_inherits WHERE inhparent = 'ledger.journal'::regclass
       AND (NOT has_table_privilege('hub_app', inhrelid, 'SELECT')
         OR has_table_privilege('hub_app', inhrelid, 'INSERT, UPDATE, DELETE, TRUNCATE'))`,
    )
    expect(grants.rowCount).to.equal(0)
    expect(
      (await database.admin.query('SELECT ledger.ensure_partitions(30) AS n')).rows[0].n,
    ).to.equal(0)
  })

  it('creates all partitions missed while the hub was off at its next start', async () => {
    const still = await freshDatabase()
    try {
      const { rows } = await still.admin.query<{ name: string }>(
        `SELECT inhrelid::regclass::text AS name FROM pg_inherits
         WHERE inhparent = 'ledger.journal'::regclass
           AND inhrelid::regclass::text LIKE '%20__\\___'`,
      )
      expect(rows.length).to.be.above(3)
      for (const { name } of rows) {
        const sql = `ALTER TABLE ledger.journal DETACH PARTITION ${name}; DROP TABLE ${name}`
        await still.admin.query(sql)
      }
      const ledger = new Ledger(still.pool)
      const booked = (): Promise<string> =>
        openAgent(ledger, 5n).then(
          () => 'booked',
          (error: Error) => error.message,
        )
      expect(await booked()).to.match(/no partition of relation "journal" found for row/)
      await still.pool.query('SELECT ledger.ensure_partitions()')
      expect(await booked()).to.equal('booked')
    } finally {
      await still.drop()
    }
  })

  it('refuses an entry that is not balanced in total and for each asset', async () => {
    const post = (accounts: string, amounts: string): Promise<string> =>
      failure(
        `SELECT ledger.post(0::smallint, 3, '${newId()}', 'balance.opened', '${accounts}',
           '${amounts}')`,
        'pool',
      )
    expect(await post('{3,13}', '{-5,4}')).to.match(/^not balanced/)
    expect(await post('{3,31}', '{-5,5}')).to.match(/^not balanced/)
    expect(await post('{3,999999}', '{-5,5}')).to.match(/^not balanced, or an unknown account/)
    expect(await post('{3}', '{0}')).to.match(/may not be booked on assets:usdc:base:treasury so/)
    expect(await post('{3,13}', '{-5,5}')).to.equal('allowed')
  })

  it('refuses an entry on the accounts of two networks, whatever its event is', async () => {
    const ledger = new Ledger(database.pool)
    const received = await ledger.open('assets:usdc:polygon:in-transit', 'USDC')
    const treasury = await ledger.open('assets:usdc:polygon:treasury', 'USDC')
    const post = (event: string, accounts: string, meta = '{}'): Promise<string> =>
      failure(
        `SELECT ledger.post(0::smallint, 3, '${newId()}', '${event}', '${accounts}', '{-5,5}',
           p_meta => '${meta}')`,
        'pool',
      )
    const why = '{"author": "finance", "reason": "a test"}'
    expect(await post('receipt.confirmed', `{3,${received.id}}`)).to.match(/of two networks$/)
    expect(await post('receipt.confirmed', `{${treasury.id},4}`)).to.match(/of two networks$/)
    expect(await post('balance.adjusted', `{3,${treasury.id}}`, why)).to.match(/of two networks$/)
    expect(await post('receipt.confirmed', `{${treasury.id},${received.id}}`)).to.equal('allowed')
    expect(await post('external.confirmed', `{6,${treasury.id}}`)).to.match(/may not be booked on/)
  })

  it('refuses an entry on accounts that its event may not touch, on either side', async () => {
    const post = (event: string, accounts: string, amounts: string): Promise<string> =>
      failure(
        `SELECT ledger.post(0::smallint, 3, '${newId()}', '${event}', '${accounts}', '${amounts}')`,
        'pool',
      )
    expect(await post('receipt.confirmed', '{3,4}', '{-5,5}')).to.equal('allowed')
    expect(await post('receipt.confirmed', '{3,4}', '{5,-5}')).to.match(/may not be booked on/)
    expect(await post('payout.confirmed', '{7,13}', '{-5,5}')).to.match(/on equity:opening so$/)
    expect(await post('call.settled', '{2,1}', '{-5,5}')).to.equal('no such event: call.settled')
    expect(await post('money.printed', '{3,13}', '{-5,5}')).to.match(/^no such event/)
  })

  it('refuses an overdraft, also by direct SQL', async () => {
    const owner = await openAgent(ledger, 10n)
    const sql = `UPDATE ledger.balance SET balance = -1 WHERE account = ${owner.id}`
    expect(await failure(sql, 'admin')).to.match(/balance_floor/)
    expect(await ledger.balance(owner.code)).to.equal(10n)
  })
})
