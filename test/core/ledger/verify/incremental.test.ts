import { expect } from 'chai'
import { exportCheckpoints, knownKeys } from '../../../../core/ledger/checkpoint.ts'
import type { AccountRef, Ledger } from '../../../../core/ledger/ledger.ts'
import { reverseCall } from '../../../../core/ledger/reverse.ts'
import {
  type IncrementalVerification,
  verifySince,
} from '../../../../core/ledger/verify/incremental.ts'
import { verifyLedger } from '../../../../core/ledger/verify.ts'
import { type FreshDatabase, freshDatabase } from '../../../support/postgres.ts'
import { openAgent, order, sampleLedger } from '../fixture.ts'
import { broken, newSigner, pinned, REWRITE, tamper } from './tampering.ts'

const CARRIED = 'the verified balances match the signed ones'
const SUMS = 'each balance is the sum of its postings'
const LEAF = 'every row is as it was written'

describe('incremental verification', () => {
  const key = newSigner()
  let database: FreshDatabase
  let ledger: Ledger
  let owner: AccountRef
  let payee: AccountRef

  beforeEach(async () => {
    database = await freshDatabase()
    const small = await sampleLedger(database.pool)
    ledger = small.ledger
    owner = small.owner
    payee = small.payee
  })
  afterEach(() => database.drop())

  const since = (options = {}): Promise<IncrementalVerification> =>
    verifySince(database.pool, { key, ...options })

  async function call(): Promise<void> {
    const terms = order(owner, payee, 50n)
    await ledger.reserve(terms)
    await ledger.settle(terms, 40n)
  }

  async function notes(): Promise<string> {
    let text = ''
    for await (const note of exportCheckpoints(database.pool)) text += note
    return text
  }

  it('continues where the last run ended, and signs a checkpoint', async () => {
    const first = await since()
    expect(broken(first)).to.deep.equal({})
    expect(first.shards).to.have.length(1)
    const [{ to, ...rest }] = first.shards as [IncrementalVerification['shards'][0]]
    expect(rest).to.include({ shard: 0, from: 0n, behind: 0n })
    expect(rest.checkpoint).to.match(new RegExp(`^agenthub-ledger/[0-9a-f-]{36}/0\n${to}\n`))
    await call()
    const second = await since()
    expect(broken(second)).to.deep.equal({})
    expect(second.shards[0]).to.include({ from: to, to: to + 2n })
    expect((await since()).shards[0]).to.deep.equal({
      shard: 0,
      from: to + 2n,
      to: to + 2n,
      behind: 0n,
    })
    expect(await notes()).to.equal(`${rest.checkpoint}\n${second.shards[0]!.checkpoint}\n`)
    expect(await knownKeys(database.pool)).to.deep.equal([pinned(key)])
    const whole = await verifyLedger(database.pool, {
      keys: [pinned(key)],
      checkpoints: await notes(),
    })
    expect(broken(whole)).to.deep.equal({})
  })

  it('processes a backlog in bounded steps, and compares balances at its end', async () => {
    for (let i = 0; i < 4; i++) await call()
    const shift = 'balance = balance + CASE account WHEN 1 THEN 1 ELSE -1 END'
    await tamper(database, `UPDATE ledger.balance SET ${shift} WHERE account IN (1, 3)`)
    const steps: IncrementalVerification['shards'][0][] = []
    while (steps.length < 20) {
      const result = await since({ limit: 3n })
      steps.push(result.shards[0]!)
      if (result.shards[0]!.behind === 0n) {
        expect(broken(result)[SUMS]).to.match(/^assets:usdc:base:treasury: balance -1/)
        break
      }
      expect(result.checks.map(({ name }) => name)).not.to.include(SUMS)
    }
    expect(steps.length).to.be.above(3)
    for (const [i, { from }] of steps.entries()) expect(from).to.equal(steps[i - 1]?.to ?? 0n)
    expect(steps.at(-1)).not.to.have.property('checkpoint')
  })

  it('sums every range of entries as their legs, and checkpoints store the same', async () => {
    const head = Number((await verifySince(database.pool)).shards[0]!.to)
    const legs = `SELECT l.account, sum(l.amount) AS balance
      FROM ledger.journal j CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l`
    const list = async (sql: string, values: readonly number[] = []) =>
      (await database.pool.query(`${sql} ORDER BY 1`, [...values])).rows
    for (let after = 0; after < head; after++) {
      for (let upto = after + 1; upto <= head; upto++) {
        const expected = `${legs} WHERE j.seq > $1 AND j.seq <= $2 GROUP BY 1`
        const found = 'SELECT account, balance FROM ledger.verified_at(0::smallint, $1, $2)'
        expect(await list(found, [after, upto])).to.deep.equal(await list(expected, [after, upto]))
      }
    }
    for (const limit of [3n, 5n, 100n]) {
      const { to } = (await since({ limit })).shards[0]!
      const stored = await list('SELECT account, balance FROM ledger.verified_balance')
      expect(stored).to.deep.equal(await list(`${legs} WHERE j.seq <= ${to} GROUP BY 1`))
    }
  })

  it('signs nothing if a check fails or without a key', async () => {
    expect((await verifySince(database.pool)).shards[0]).not.to.have.property('checkpoint')
    await tamper(database, 'UPDATE ledger.journal SET endpoint = 7 WHERE seq = 6')
    const result = await since()
    expect(broken(result)[LEAF]).to.match(/^shard 0 seq 6 id/)
    expect(await notes()).to.equal('')
  })

  it('detects rows changed, removed or added since, and orphaned rows', async () => {
    await since()
    await call()
    await call()
    const cases: Readonly<Record<string, readonly [string, string, RegExp]>> = {
      'a row': [
        'UPDATE ledger.journal SET endpoint = 1 WHERE seq = 15',
        LEAF,
        /^shard 0 seq 15 id/,
      ],
      'a removed row': [
        'DELETE FROM ledger.journal WHERE seq = 16',
        'the sequence has no gaps and ends at the head',
        /^shard 0 seq 16 is missing/,
      ],
      'a row beyond the head': [
        `INSERT INTO ledger.journal SELECT '00000000-0000-7000-8000-000000000001', j.owner, 99,
           j.at, j.amount, j.rest, j.fee, j.payee, j.expires_at, j.endpoint, j.price_version,
           j.bps, j.asset, j.shard, j.kind, j.phase, j.guards, j.accounts, j.amounts,
           j.effective_at,
           j.meta, j.leaf
         FROM ledger.journal j WHERE j.seq = 15`,
        'the sequence has no gaps and ends at the head',
        /^shard 0: the head is at 18, the journal at 99/,
      ],
      'rows that changed places': [
        'UPDATE ledger.journal SET seq = 33 - seq WHERE seq IN (16, 17)',
        'every row is under its seal',
        /^shard 0 seq 16 to/,
      ],
      'a seal': [
        `UPDATE ledger.seal SET hash = '\\x01' WHERE seq_to = (SELECT seq FROM ledger.head)`,
        'the seals are one unbroken chain up to the head',
        /^shard 0 seal of seq/,
      ],
      'the head': [
        'UPDATE ledger.head SET seq = seq - 2',
        'the sequence has no gaps and ends at the head',
        /^shard 0/,
      ],
      'an old balance': [
        'UPDATE ledger.balance SET balance = balance + 1 WHERE account = 31',
        SUMS,
        /^equity:free-calls:granted: balance/,
      ],
      'a total': [
        'UPDATE ledger.balance SET balance = balance + 1 WHERE account = 3',
        'balances sum to zero for each asset',
        /^USDC/,
      ],
      'a floor': [
        'UPDATE ledger.balance SET floor = -9 WHERE account = 2',
        'no balance is below its floor',
        /^liabilities:holds: .* floor -9/,
      ],
      'terms of an outcome': [
        'UPDATE ledger.journal SET payee = 3 WHERE seq = 16',
        'every outcome has a reserve with the same terms',
        /^shard 0 seq 16 id/,
      ],
      'a carried balance': [
        'UPDATE ledger.verified_balance SET balance = balance + 1 WHERE account = 1',
        CARRIED,
        /^shard 0 at seq \d+/,
      ],
      'the name of an account': [
        `UPDATE ledger.account SET code = 'liabilities:providers:acme:y' WHERE id = ${payee.id}`,
        CARRIED,
        /^shard 0 at seq \d+/,
      ],
    }
    const tables = ['journal', 'seal', 'head', 'balance', 'verified_balance', 'account']
    const columns = (table: string): string =>
      table === 'account' ? 'id, code, asset, home, opened_at' : '*'
    for (const table of tables) {
      await database.admin.query(`CREATE TABLE kept_${table} AS TABLE ledger.${table}`)
    }
    for (const [what, [sql, name, example]] of Object.entries(cases)) {
      await tamper(database, sql)
      const result = await since()
      expect(result.ok, what).to.equal(false)
      expect(broken(result)[name], what).to.match(example)
      for (const table of tables) {
        const list = columns(table)
        await tamper(
          database,
          `DELETE FROM ledger.${table}`,
          `INSERT INTO ledger.${table} ${list === '*' ? '' : `(${list})`}
           SELECT ${list} FROM kept_${table}`,
        )
      }
    }
    expect(broken(await since())).to.deep.equal({})
  })

  it('detects an entry that only violates the rule of its event', async () => {
    await since()
    await call()
    const rule = 'every entry follows the rule of its event'
    for (const set of [`accounts = '{3,${owner.id}}'`, 'kind = 40', 'kind = 99']) {
      await tamper(database, `UPDATE ledger.journal SET ${set} WHERE seq = 1`, ...REWRITE)
      expect(broken(await verifyLedger(database.pool))[rule], set).to.match(/^shard 0 seq 1 id/)
    }
  })

  it('detects a reversal above the charge, for another owner, or of no call', async () => {
    const terms = order(owner, payee, 50n)
    await ledger.reserve(terms)
    await ledger.settle(terms, 40n)
    await reverseCall(database.pool, ledger, terms, { author: 'finance', reason: 'a dispute' })
    expect(broken(await since())).to.deep.equal({})
    const reversal = 'a reversal refunds at most the amount charged'
    const other = await openAgent(ledger, 1n)
    const named = /^shard 0 seq \d+ id .*: refunds/
    for (const set of [
      'amounts = ARRAY(SELECT 2 * a FROM unnest(amounts) a)',
      `accounts = array_replace(accounts, ${owner.id}, ${other.id})`,
      `id = '00000000-0000-7000-8000-000000000001'`,
    ]) {
      await database.admin.query('CREATE TABLE original AS TABLE ledger.journal')
      await tamper(database, `UPDATE ledger.journal SET ${set} WHERE phase = 3`, ...REWRITE)
      expect(broken(await verifyLedger(database.pool))[reversal], set).to.match(named)
      await tamper(database, 'DELETE FROM ledger.checkpoint', 'DELETE FROM ledger.verified_balance')
      expect(broken(await verifySince(database.pool))[reversal], set).to.match(named)
      await tamper(
        database,
        'DELETE FROM ledger.journal',
        'INSERT INTO ledger.journal TABLE original',
        ...REWRITE,
      )
      await database.admin.query('DROP TABLE original')
      expect(broken(await since())).to.deep.equal({})
    }
  })

  it('leaves unexplained snapshots to the full verification', async () => {
    await tamper(database, `INSERT INTO ledger.snapshot VALUES (1, 0, 5, 1, 0, '{0}', '{-1}')`)
    expect(broken(await verifyLedger(database.pool))).to.deep.equal({
      'each snapshot matches the journal':
        'shard 0 snapshot of account 1 at seq 5: there is no such chunk',
    })
  })

  it('accepts a checkpoint only for a newer seal, through its function', async () => {
    const [{ to }] = (await since()).shards as [IncrementalVerification['shards'][0]]
    const add = (seq: bigint, hash: string): Promise<string> =>
      database.pool
        .query(`SELECT ledger.add_checkpoint(0::smallint, $1, 0, ${hash}, now(), $2, 'note')`, [
          seq,
          key.id,
        ])
        .then(
          () => 'taken',
          (error: Error) => error.message,
        )
    expect(await add(to, '(SELECT hash FROM ledger.head)')).to.match(/has a checkpoint of seq/)
    await call()
    expect(await add(to + 2n, `'\\x00'`)).to.match(/has no seal of seq/)
  })

  it('runs concurrently with posting and itself, with sound checkpoints', async () => {
    const count = async () => (await notes()).match(/^balances/gm)?.length ?? 0
    const over = new AbortController()
    const traffic = async (): Promise<void> => {
      while (!over.signal.aborted) await call()
    }
    const checks = async (): Promise<void> => {
      try {
        while ((await count()) < 12) expect(broken(await since())).to.deep.equal({})
      } finally {
        over.abort()
      }
    }
    await Promise.all([traffic(), traffic(), checks(), checks()])
    expect(broken(await since())).to.deep.equal({})
    const trust = { keys: [pinned(key)], checkpoints: await notes() }
    expect(broken(await verifyLedger(database.pool, trust))).to.deep.equal({})
  })
})
