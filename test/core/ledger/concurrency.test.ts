import { expect } from 'chai'
import type { Pool, PoolClient, QueryConfig } from 'pg'
import { elapsedMs, sleep } from '../../../core/clock.ts'
import { createPool } from '../../../core/db/pool.ts'
import { inRolledBackTransaction } from '../../../core/db/transaction.ts'
import { type AccountRef, Ledger, type ReserveOrder } from '../../../core/ledger/ledger.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { publishSigningKey } from '../../../core/usage/receipts.ts'
import { type FreshDatabase, freshDatabase } from '../../support/postgres.ts'
import { micros, newId, openAgent, openGranted, openProvider, order, tally } from './fixture.ts'
import { newSigner } from './verify/tampering.ts'

describe('the ledger under concurrency and loss', () => {
  let database: FreshDatabase
  let ledger: Ledger
  let otherPool: Pool
  let other: Ledger
  let payee: AccountRef

  before(async () => {
    database = await freshDatabase()
    ledger = new Ledger(database.pool)
    otherPool = createPool(database.url, { role: 'hub_finance', max: 4, applicationName: 'other' })
    other = new Ledger(otherPool, { concurrency: 2 })
    payee = await openProvider(ledger, 'acme')
  })
  after(async () => {
    expect((await verifyLedger(database.pool)).ok).to.equal(true)
    await otherPool.end()
    await database.drop()
  })

  /** Counts the journal entries of each call. */
  async function booked(calls: readonly ReserveOrder[], phase: 1 | 2): Promise<number[]> {
    const { rows } = await database.pool.query<{ n: number }>(
      `SELECT count(j.id)::integer AS n FROM unnest($1::uuid[]) WITH ORDINALITY c(id, i)
       LEFT JOIN ledger.journal j ON j.id = c.id AND j.phase = $2 GROUP BY c.i ORDER BY c.i`,
      [calls.map(({ call }) => call), phase],
    )
    return rows.map(({ n }) => n)
  }

  it('books calls while a snapshot of their shard is being stored', async () => {
    const owner = await openAgent(ledger, 5n)
    const store = async (client: PoolClient): Promise<void> => {
      await client.query('INSERT INTO ledger.chunk VALUES (0, 1, 1, $1, $1)', [newId()])
      const { outcome } = await ledger.reserve(order(owner, payee, 5n))
      expect(outcome).to.equal('applied')
    }
    await inRolledBackTransaction(database.admin, store)
  })

  it('gives the last credit to exactly one of two instances', async () => {
    for (let i = 0; i < 20; i++) {
      const owner = await openAgent(ledger, 1n)
      const results = await Promise.all([
        ledger.reserve(order(owner, payee, 1n)),
        other.reserve(order(owner, payee, 1n)),
      ])
      expect(tally(results)).to.deep.equal({ applied: 1, insufficient_funds: 1 })
      expect(await ledger.balance(owner.code)).to.equal(0n)
    }
  })

  it('books on a shard that was opened after its start', async () => {
    const late = await freshDatabase()
    try {
      const earlier = new Ledger(late.pool)
      await late.admin.query('SELECT ledger.open_shard(7::smallint)')
      const owner = await earlier.open('liabilities:agents:key_late:credits', 'USDC', { home: 7 })
      const event = { type: 'credits.purchased', credits: owner.code, amount: micros(9n) } as const
      expect(await earlier.post(event, { owner, id: newId() })).to.equal('applied')
      const call = order(owner, await openProvider(earlier, 'acme'), 4n)
      expect((await earlier.reserve(call)).outcome).to.equal('applied')
      expect(await earlier.balance(owner.code)).to.equal(5n)
    } finally {
      await late.drop()
    }
  })

  it('never sells more than the credits to concurrent callers on two instances', async () => {
    const owner = await openAgent(ledger, 50n)
    const calls = Array.from({ length: 200 }, () => order(owner, payee, 1n))
    const results = await Promise.all(
      calls.map((call, i) => (i % 2 === 0 ? ledger : other).reserve(call)),
    )
    expect(tally(results)).to.deep.equal({ applied: 50, insufficient_funds: 150 })
    expect(await ledger.balance(owner.code)).to.equal(0n)
  })

  it('reserves the same call once, however often it is sent concurrently', async () => {
    const owner = await openAgent(ledger, 100n)
    const call = order(owner, payee, 1n)
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? ledger : other).reserve(call)),
    )
    expect(tally(results)).to.deep.equal({ applied: 1, replayed: 19 })
    const resolved = await Promise.all([ledger.settle(call, 1n), other.release(call)])
    expect(tally(resolved)).to.deep.equal({ applied: 1, id_reused_with_other_terms: 1 })
  })

  it('refuses only the hold for a payee that cannot be paid', async () => {
    const owner = await openAgent(ledger, 1_000n)
    const calls = Array.from({ length: 40 }, () => order(owner, payee, 2n))
    const unknown = order(owner, { ...payee, id: 999_999n }, 2n)
    const wrongAsset = order(owner, await ledger.account('equity:free-calls:used'), 2n)
    const all = [...calls.slice(0, 20), unknown, wrongAsset, ...calls.slice(20)]
    const results = await Promise.allSettled(all.map((call) => ledger.reserve(call)))
    const failed = results.flatMap((result, i) => (result.status === 'rejected' ? [all[i]] : []))
    expect(failed).to.deep.equal([unknown, wrongAsset])
    expect(await ledger.balance(owner.code)).to.equal(920n)
  })

  it('fails only the operation that the database rejects', async () => {
    const owner = await openAgent(ledger, 1_000n)
    const full = await openProvider(ledger, 'full')
    const most = {
      type: 'balance.adjusted',
      debit: 'expenses:free-tier',
      credit: full.code,
      asset: 'USDC',
      amount: 2n ** 63n - 2n,
    } as const
    const meta = { author: 'finance', reason: 'a test' }
    await ledger.post(most, { owner: full, id: newId(), meta })
    const calls = Array.from({ length: 40 }, () => order(owner, payee, 2n))
    const tooMuch = order(owner, full, 2n, { commissionBps: 0 })
    const all = [...calls.slice(0, 20), tooMuch, ...calls.slice(20)]
    await Promise.all(all.map((call) => ledger.reserve(call)))
    const results = await Promise.allSettled(all.map((call) => ledger.settle(call, 2n)))
    const failed = results.flatMap((result, i) => (result.status === 'rejected' ? [all[i]] : []))
    expect(failed).to.deep.equal([tooMuch])
    expect((await ledger.release(tooMuch)).outcome).to.equal('applied')
    expect(await ledger.balance(owner.code)).to.equal(920n)
  })

  it('fails only the reserve of zero, or of an owner in another asset', async () => {
    const owner = await openAgent(ledger, 10n)
    const used = await ledger.account('equity:free-calls:used')
    const good = [order(owner, payee, 5n), order(owner, payee, 5n)] as const
    const results = await Promise.allSettled([
      ledger.reserve(good[0]),
      ledger.reserve(order(owner, payee, 0n)),
      ledger.reserve(order({ ...owner, asset: 'FREECALL' }, used, 1n)),
      ledger.reserve(good[1]),
    ])
    expect(
      results.map((r) => (r.status === 'fulfilled' ? r.value.outcome : 'failed')),
    ).to.deep.equal(['applied', 'failed', 'insufficient_funds', 'applied'])
  })

  it('distinguishes a repeated reserve from one that differs in any term', async () => {
    const owner = await openAgent(ledger, 100n)
    const call = order(owner, payee, 5n, { endpoint: 3, priceVersion: 2 })
    expect((await ledger.reserve(call)).outcome).to.equal('applied')
    expect((await ledger.reserve(call)).outcome).to.equal('replayed')
    const others = [
      { amount: 6n },
      { payee: await openProvider(ledger, 'another') },
      { commissionBps: 999 },
      { endpoint: 4 },
      { priceVersion: 1 },
      { guards: [await openGranted(ledger, 'ALLOWANCE', 10n)] },
    ]
    for (const term of others) {
      const { outcome } = await ledger.reserve({ ...call, ...term })
      expect(outcome, Object.keys(term)[0]).to.equal('id_reused_with_other_terms')
    }
    expect(await ledger.balance(owner.code)).to.equal(95n)
  })

  it('repeats a batch whose backend was killed in the middle', async () => {
    const owner = await openAgent(ledger, 1_000n)
    const calls = Array.from({ length: 100 }, () => order(owner, payee, 1n))
    const client = await database.admin.connect()
    try {
      await client.query('BEGIN')
      await client.query('SELECT FROM ledger.head FOR UPDATE') // the batch must wait for this lock
      const results = Promise.all(calls.map((call) => other.reserve(call)))
      expect(await killOthers(true)).to.be.above(0)
      await client.query('ROLLBACK')
      expect(tally(await results)).to.deep.equal({ applied: 100 })
    } finally {
      client.release()
    }
    expect(await booked(calls, 1)).to.deep.equal(Array(100).fill(1))
    expect(await ledger.balance(owner.code)).to.equal(900n)
  })

  /** Kills the backends of the other instance; with `waiting`, waits until one is blocked. */
  async function killOthers(waiting: boolean): Promise<number> {
    const deadline = elapsedMs() + 5_000
    for (; elapsedMs() < deadline; await sleep(5)) {
      const { rowCount } = await database.admin.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'other'
         AND datname = current_database() AND (NOT $1 OR wait_event_type = 'Lock')`,
        [waiting],
      )
      if (rowCount! > 0 || !waiting) return rowCount!
    }
    return 0
  }

  it('returns `replayed` if the response of a batch was lost after its commit', async () => {
    let lost = 0
    const query = async (config: QueryConfig): Promise<unknown> => {
      const result: unknown = await database.pool.query(config)
      if (config.name !== 'ledger.apply' || lost++ > 0) return result
      throw new Error('Connection terminated unexpectedly')
    }
    const unlucky = new Ledger({ query } as unknown as Pool)
    const owner = await openAgent(ledger, 5n)
    const calls = Array.from({ length: 7 }, () => order(owner, payee, 1n))
    const results = await Promise.all(calls.map((call) => unlucky.reserve(call)))
    expect(tally(results)).to.deep.equal({ replayed: 5, insufficient_funds: 2 })
    expect(await booked(calls, 1)).to.deep.equal([1, 1, 1, 1, 1, 0, 0])
  })

  it('duplicates and loses nothing while backends are killed repeatedly', async () => {
    const owner = await openAgent(ledger, 10_000n)
    const calls = Array.from({ length: 1_000 }, () => order(owner, payee, 3n))
    const running = new AbortController()
    const killer = (async () => {
      let killed = 0
      for (; !running.signal.aborted; await sleep(200)) killed += await killOthers(false)
      return killed
    })()
    const lanes = Array.from({ length: 50 }, async (_, lane) => {
      const results = []
      for (let i = lane; i < calls.length; i += 50) {
        results.push(await other.reserve(calls[i]!), await other.settle(calls[i]!, 2n))
      }
      return results
    })
    const results = (await Promise.all(lanes)).flat()
    running.abort()
    expect(await killer).to.be.above(0)
    const { applied = 0, replayed = 0, ...rest } = tally(results)
    expect(applied + replayed).to.equal(2_000)
    expect(rest).to.deep.equal({})
    expect(await booked(calls, 1)).to.deep.equal(Array(1_000).fill(1))
    expect(await booked(calls, 2)).to.deep.equal(Array(1_000).fill(1))
    expect(await ledger.balance(owner.code)).to.equal(8_000n)
  })

  it('publishes one signing key for many processes that start at once', async () => {
    for (let i = 0; i < 40; i++) {
      const key = newSigner()
      await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          publishSigningKey(n % 2 ? database.pool : otherPool, key),
        ),
      )
      const { rowCount } = await database.pool.query(
        'SELECT FROM ledger.signing_key WHERE id = $1 AND public_key = $2',
        [key.id, key.publicKey],
      )
      expect(rowCount).to.equal(1)
    }
  })
})
