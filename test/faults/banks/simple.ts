import type { Pool, PoolClient } from 'pg'
import { createPool } from '../../../core/db/pool.ts'
import { inTransaction } from '../../../core/db/transaction.ts'
import type { LedgerOutcome } from '../../../core/ledger/events.ts'
import { LedgerUnavailable } from '../../../core/ledger/retry.ts'
import { split } from '../../../core/money.ts'
import { type Bank, type BankState, BPS, type Entry } from '../bank/bank.ts'

/** Small bank with one transaction per step, sound or with a planted bug. */
export interface SimpleSpec {
  readonly bank: 'simple'
  readonly url: string
  readonly agents: number
  /**
   * `no-key`: repeated steps are not detected; `no-lock`: balances are read, computed and written
   * without a lock.
   */
  readonly flaw: 'none' | 'no-key' | 'no-lock'
}

const HOLDS = -1
const PROVIDERS = -2
const COMMISSION = -3
const END = `what IN ('settle', 'release', 'expire')`

export async function openSimpleBank(
  url: string,
  agents: number,
  flaw: SimpleSpec['flaw'],
): Promise<SimpleSpec> {
  const pool = createPool(url, { max: 1 })
  const key = flaw === 'no-key' ? 'INDEX' : 'UNIQUE INDEX'
  try {
    await pool.query(`
      CREATE TABLE account (id integer PRIMARY KEY, balance bigint NOT NULL DEFAULT 0);
      INSERT INTO account SELECT generate_series(${COMMISSION}, ${agents - 1});
      CREATE TABLE entry (id uuid, what text, agent integer, amount bigint, expires_at timestamptz);
      CREATE ${key} entry_step ON entry (id, (CASE WHEN ${END} THEN 'end' ELSE what END));`)
  } finally {
    await pool.end()
  }
  return { bank: 'simple', url, agents, flaw }
}

export function simpleBank(spec: SimpleSpec): Bank {
  const { url, agents, flaw } = spec
  const pool = createPool(url, { max: 8 })

  async function move(client: PoolClient, id: number, delta: bigint): Promise<void> {
    if (flaw !== 'no-lock') {
      await client.query('UPDATE account SET balance = balance + $2 WHERE id = $1', [id, delta])
      return
    }
    const balance = (await balanceOf(client, id)) + delta
    await client.query('UPDATE account SET balance = $2 WHERE id = $1', [id, balance])
  }

  async function balanceOf(client: PoolClient, id: number, lock = ''): Promise<bigint> {
    const { rows } = await client.query<{ balance: bigint }>(
      `SELECT balance FROM account WHERE id = $1 ${lock}`,
      [id],
    )
    return rows[0]!.balance
  }

  const write = (client: PoolClient, { what, id, agent, amount }: Entry, ttlSeconds = 0) =>
    client.query(`INSERT INTO entry VALUES ($1, $2, $3, $4, now() + make_interval(secs => $5))`, [
      id,
      what,
      agent,
      amount,
      ttlSeconds,
    ])

  async function end(client: PoolClient, entry: Entry): Promise<LedgerOutcome> {
    const { id, agent, amount } = entry
    const lock = flaw === 'none' ? 'FOR UPDATE' : ''
    const { rows } = await client.query<{ amount: bigint }>(
      `SELECT amount FROM entry WHERE id = $1 AND what = 'reserve' LIMIT 1 ${lock}`,
      [id],
    )
    if (!rows[0]) return 'no_such_hold'
    await write(client, entry)
    const { share, commission } = split(amount, BPS)
    await move(client, agent, rows[0].amount - amount)
    await move(client, HOLDS, -rows[0].amount)
    await move(client, PROVIDERS, share)
    await move(client, COMMISSION, commission)
    return 'applied'
  }

  /** Executes a step in one transaction; the unique key detects a repetition. */
  const once = (
    step: Entry,
    work: (client: PoolClient) => Promise<LedgerOutcome>,
  ): Promise<LedgerOutcome> =>
    inTransaction(pool, work).catch(async (error: unknown) => {
      if ((error as { code?: string }).code !== '23505') throw lost(error)
      return replayOf(pool, step)
    })

  return {
    fund: (step) =>
      once(step, async (client) => {
        await write(client, step)
        await move(client, step.agent, step.amount)
        return 'applied'
      }),
    reserve: (step) =>
      once(step, async (client) => {
        const lock = flaw === 'no-lock' ? '' : 'FOR UPDATE'
        const balance = await balanceOf(client, step.agent, lock)
        if (balance < step.amount) return 'insufficient_funds'
        await write(client, step, step.ttlSeconds)
        await move(client, step.agent, -step.amount)
        await move(client, HOLDS, step.amount)
        return 'applied'
      }),
    settle: (step) => once(step, (client) => end(client, step)),
    release: (step) => once(step, (client) => end(client, step)),
    async expire() {
      const { rows } = await pool.query<{ id: string; agent: number; due: boolean }>(
        `SELECT DISTINCT id, agent, expires_at < now() AS due FROM entry e WHERE what = 'reserve'
           AND NOT EXISTS (SELECT FROM entry f WHERE f.id = e.id AND ${END})`,
      )
      const due = rows.filter((row) => row.due)
      for (const { id, agent } of due) {
        const entry = { what: 'expire', id, agent, amount: 0n } as const
        await once(entry, (client) => end(client, entry))
      }
      return BigInt(rows.length - due.length)
    },
    audit: () => audit(pool, agents),
    close: () => pool.end(),
  }
}

/** Returns whether the entry that violated the key is a replay or has other terms. */
async function replayOf(pool: Pool, { id, what, amount }: Entry): Promise<LedgerOutcome> {
  const { rowCount } = await pool
    .query('SELECT FROM entry WHERE id = $1 AND what = $2 AND amount = $3', [id, what, amount])
    .catch((error: unknown) => {
      throw lost(error)
    })
  return rowCount === 0 ? 'id_reused_with_other_terms' : 'replayed'
}

const lost = (cause: unknown): LedgerUnavailable =>
  new LedgerUnavailable('not known whether it was done', { cause })

async function audit(pool: Pool, agents: number): Promise<BankState> {
  const { rows: entries } = await pool.query<Entry>('SELECT what, id, agent, amount FROM entry')
  const { rows } = await pool.query<{ id: number; balance: bigint }>('SELECT * FROM account')
  const balances = new Map(rows.map(({ id, balance }) => [id, balance]))
  const balance = (id: number): bigint => balances.get(id) ?? 0n
  return {
    entries,
    agents: Array.from({ length: agents }, (_, i) => balance(i)),
    holds: balance(HOLDS),
    providers: balance(PROVIDERS),
    commission: balance(COMMISSION),
    findings: [],
  }
}
