import { expect } from 'chai'
import { elapsedMs } from '../../../core/clock.ts'
import { totalsByAsset, trialBalance } from '../../../core/ledger/trial-balance.ts'
import { type Verification, verifyLedger } from '../../../core/ledger/verify.ts'
import { ledgerCommand } from '../../../server/commands/ledger/index.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { openAgent, order, sampleLedger } from './fixture.ts'

/** A superuser can change anything by disabling triggers: verification must detect it. */
describe('the verification of the ledger', () => {
  let database: FreshDatabase

  beforeEach(async () => {
    database = await freshDatabase()
    await sampleLedger(database.pool)
  })
  afterEach(() => database.drop())

  /** Changes the tables with triggers disabled, then verifies the ledger. */
  async function tampered(sql: string): Promise<Verification> {
    const client = await database.admin.connect()
    try {
      await client.query('SET session_replication_role = replica')
      const result = await client.query(sql)
      expect(result.rowCount, 'rows tampered with').to.be.above(0)
      await client.query('RESET session_replication_role')
    } finally {
      client.release()
    }
    return verifyLedger(database.pool)
  }

  const broken = ({ checks }: Verification): Record<string, string> =>
    Object.fromEntries(
      checks.filter(({ bad }) => bad !== 0n).map(({ name, example }) => [name, example ?? '']),
    )

  async function rowAt(seq: number): Promise<string> {
    const { rows } = await database.pool.query<{ name: string }>(
      `SELECT format('shard %s seq %s id %s', shard, seq, id) AS name
       FROM ledger.journal WHERE seq = $1`,
      [seq],
    )
    return rows[0]!.name
  }

  it('finds nothing in a sound ledger, and changes nothing', async () => {
    const first = await verifyLedger(database.pool)
    expect(first.ok).to.equal(true)
    expect(first.checks.length).to.be.at.least(11)
    expect(first.checks.every(({ bad, example }) => bad === 0n && example === undefined)).to.equal(
      true,
    )
    expect(await verifyLedger(database.pool)).to.deep.equal(first)
  })

  it('reports a row whose amount was changed, even if it balances', async () => {
    const row = await rowAt(4)
    const result = broken(
      await tampered('UPDATE ledger.journal SET amount = amount + 1 WHERE seq = 4'),
    )
    expect(result['every row is as it was written']).to.equal(row)
    expect(result['each balance is the sum of its postings']).to.include('liabilities:')
  })

  it('reports a row whose metadata was changed', async () => {
    const row = await rowAt(1)
    const result = await tampered(`UPDATE ledger.journal SET meta = '{"a":1}' WHERE seq = 1`)
    expect(broken(result)).to.deep.equal({ 'every row is as it was written': row })
    expect(result.ok).to.equal(false)
  })

  it('reports the position of a removed row', async () => {
    const result = broken(await tampered('DELETE FROM ledger.journal WHERE seq = 2'))
    expect(result['the sequence has no gaps and ends at the head']).to.equal(
      'shard 0 seq 2 is missing',
    )
    expect(result).to.include.keys('every row is under its seal')
  })

  it('detects that the last rows were removed, with their seal', async () => {
    const result = broken(
      await tampered(
        `WITH s AS (DELETE FROM ledger.seal WHERE seq_to = (SELECT seq FROM ledger.head)
           RETURNING seq_from) DELETE FROM ledger.journal WHERE seq >= (SELECT seq_from FROM s)`,
      ),
    )
    expect(result['the sequence has no gaps and ends at the head']).to.match(
      /^shard 0: the head is/,
    )
    expect(result).to.include.keys('the seals are one unbroken chain up to the head')
  })

  it('reports rows that changed places', async () => {
    const row = await rowAt(5)
    const result = broken(
      await tampered('UPDATE ledger.journal SET seq = 11 - seq WHERE seq IN (5, 6)'),
    )
    expect(result['every row is as it was written']).to.match(/^shard 0 seq 5 id/)
    expect(result['every row is as it was written']).to.not.equal(row)
    expect(result).to.include.keys('every row is under its seal')
  })

  it('reports a row that was changed directly in its partition', async () => {
    const { rows } = await database.pool.query<{ name: string }>(
      'SELECT tableoid::regclass::text AS name FROM ledger.journal WHERE seq = 6',
    )
    const result = await tampered(`UPDATE ${rows[0]!.name} SET endpoint = 7 WHERE seq = 6`)
    expect(broken(result)['every row is as it was written']).to.equal(await rowAt(6))
  })

  it('detects a changed row with a matching leaf by its seal', async () => {
    const result = broken(
      await tampered(
        `UPDATE ledger.journal j
         SET endpoint = 7, leaf = ledger.leaf(ROW(j.id, j.owner, j.seq, j.at, j.amount,
           j.rest, j.fee, j.payee, j.expires_at, 7, j.price_version, j.bps, j.asset,
           j.shard, j.kind, j.phase, j.guards, j.accounts, j.amounts, j.effective_at, j.meta,
           j.leaf)::ledger.journal) WHERE j.seq = 6`,
      ),
    )
    expect(result).to.not.have.property('every row is as it was written')
    expect(result['every row is under its seal']).to.match(/^shard 0 seq \d to \d/)
  })

  it('detects a changed seal, a changed head and an entry without a head', async () => {
    const chain = 'the seals are one unbroken chain up to the head'
    const seal = broken(await tampered(`UPDATE ledger.seal SET hash = '\\x01' WHERE seq_from = 1`))
    expect(seal).to.include.keys(chain, 'every row is under its seal')
    const head = broken(await tampered('UPDATE ledger.head SET seq = seq + 1'))
    expect(head).to.include.keys(chain, 'the sequence has no gaps and ends at the head')
  })

  it('reports an account whose balance was changed, and the total that is not zero', async () => {
    const result = broken(await tampered('UPDATE ledger.balance SET balance = 7 WHERE account = 1'))
    expect(result['each balance is the sum of its postings']).to.match(
      /^income:commission: balance 7/,
    )
    expect(result['balances sum to zero for each asset']).to.match(/^USDC/)
    expect(
      await ledgerCommand(
        async () => database.pool,
        ['balances'],
        () => {},
      ),
    ).to.equal(1)
  })

  it('detects postings without a balance, and a control account without holds', async () => {
    const missing = broken(await tampered('DELETE FROM ledger.balance WHERE account = 1'))
    expect(missing['each balance is the sum of its postings']).to.include('missing')
    const holds = broken(
      await tampered('UPDATE ledger.balance SET balance = 9 WHERE account IN (2, 40)'),
    )
    expect(holds['the control accounts equal the sum of open holds']).to.match(/holds: balance 9/)
  })

  it('detects a balance below its floor, also if the floor was changed', async () => {
    await database.admin.query('ALTER TABLE ledger.balance DROP CONSTRAINT balance_floor')
    const result = broken(await tampered('UPDATE ledger.balance SET floor = 1 WHERE account = 30'))
    expect(result['no balance is below its floor']).to.include('floor 1')
  })

  it('detects an outcome with other terms, without a reserve, or a second one', async () => {
    const terms = 'every outcome has a reserve with the same terms'
    await database.admin.query('ALTER TABLE ledger.journal DROP CONSTRAINT journal_pkey CASCADE')
    const twice = broken(
      await tampered('INSERT INTO ledger.journal SELECT * FROM ledger.journal WHERE kind = 3'),
    )
    expect(twice['a hold has one outcome at most']).to.match(/2 outcomes$/)
    expect(twice['the sequence has no gaps and ends at the head']).to.match(/used twice$/)
    const alone = broken(
      await tampered(`DELETE FROM ledger.journal WHERE phase = 1 AND guards IS NOT NULL`),
    )
    expect(alone[terms]).to.match(/^shard 0 seq \d+ id .*: no reserve$/)
    const changed = broken(await tampered('UPDATE ledger.journal SET payee = 3 WHERE kind = 3'))
    expect(changed[terms]).to.match(/^shard 0 seq \d+ id/)
  })

  it('detects an entry that is not balanced for each asset', async () => {
    const result = broken(
      await tampered(`UPDATE ledger.journal SET accounts[1] = 31 WHERE kind = 16`),
    )
    expect(result['every entry is balanced for each asset']).to.include(await rowAt(1))
  })

  const CALLS = 'WHERE phase > 0 AND guards IS NULL'
  for (const [leg, sql] of Object.entries({
    'an owner of another asset': `UPDATE ledger.journal SET owner = 31 ${CALLS}`,
    'an unknown owner': `UPDATE ledger.journal SET owner = 999999 ${CALLS}`,
    'a payee of another asset': `UPDATE ledger.journal SET payee = 31 ${CALLS} AND amount > fee`,
    'an unknown payee': `UPDATE ledger.journal SET payee = 999999 ${CALLS} AND amount > fee`,
    'a hold of another asset': 'UPDATE ledger.account SET asset = 3 WHERE id = 2',
    'a commission of another asset': 'UPDATE ledger.account SET asset = 3 WHERE id = 1',
  })) {
    it(`detects that a call is not balanced: ${leg}`, async () => {
      const result = broken(await tampered(sql))
      expect(result['every entry is balanced for each asset']).to.include(' in asset ')
    })
  }

  it('is correct while calls run', async () => {
    const { ledger, owner, payee } = await sampleLedger(database.pool)
    const poor = await openAgent(ledger, 3n)
    const until = elapsedMs() + 1_000
    const traffic = async (): Promise<void> => {
      while (elapsedMs() < until) {
        const call = order(owner, payee, 5n)
        await Promise.all([ledger.reserve(call), ledger.reserve(order(poor, payee, 2n))])
        await ledger.settle(call, 4n)
      }
    }
    const checks = async (): Promise<void> => {
      while (elapsedMs() < until)
        expect(broken(await verifyLedger(database.pool))).to.deep.equal({})
    }
    await Promise.all([traffic(), traffic(), traffic(), checks()])
  })

  it('is a command with text or JSON output and an exit code', async () => {
    const messages: string[] = []
    const run = async (...args: string[]): Promise<number> => {
      messages.length = 0
      return ledgerCommand(
        async () => database.pool,
        args,
        (text) => messages.push(text),
      )
    }
    expect(await run('verify')).to.equal(0)
    expect(messages.join('')).to.include('The ledger is sound.')
    expect(await run('balances', '--json')).to.equal(0)
    const { accounts, totals: sums } = JSON.parse(messages.join(''))
    expect(sums).to.deep.equal({ USDC: '0', GWEI: '0', ALLOWANCE: '0', FREECALL: '0' })
    expect(
      accounts.find((row: { account: string }) => row.account === 'liabilities:holds'),
    ).to.deep.equal({ account: 'liabilities:holds', asset: 'USDC', balance: '5003' })
    expect(await run('--help')).to.equal(0)
    for (const args of [
      [],
      ['steal'],
      ['export'],
      ['export', '--format', 'pdf'],
      ['verify', '--x'],
    ]) {
      expect(await run(...args), args.join(' ')).to.equal(2)
      expect(messages.join('')).to.include('Usage: npm run ledger')
    }
    await tampered('UPDATE ledger.journal SET endpoint = 7 WHERE seq = 6')
    expect(await run('verify', '--json')).to.equal(1)
    expect(JSON.parse(messages.join(''))).to.have.property('ok', false)
  })

  it('gives a trial balance with every account and totals of zero', async () => {
    const rows = await trialBalance(database.pool)
    expect(rows).to.deep.include({ account: 'income:commission', asset: 'USDC', balance: 1029n })
    expect([...totalsByAsset(rows).values()].every((sum) => sum === 0n)).to.equal(true)
  })
})
