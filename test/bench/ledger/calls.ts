import type { Pool } from 'pg'
import { systemClock } from '../../../core/clock.ts'
import { openShards } from '../../../core/identity/shards.ts'
import { uuidv7 } from '../../../core/ids.ts'
import { type AccountRef, Ledger, type LedgerOptions } from '../../../core/ledger/ledger.ts'
import { NAIVE_SCHEMA, naiveReserve, naiveSettle } from '../naive-ledger.ts'

/** Runs one call from beginning to end; throws if it failed. */
export type Once = () => Promise<void>

/** Distribution of the calls: over ten thousand agents, or all of one. */
export type Accounts = 'uniform' | 'hot'

const AGENTS = 10_000
const PROVIDERS = 100
const SHARDS = 2 // as in the hub
const PLENTY = 1_000_000_000_000

/** Opens the agents and providers of our ledger, as its owner. */
export async function openAccounts(owner: Pool, shards = SHARDS): Promise<void> {
  await openShards(owner, shards)
  await owner.query(
    `INSERT INTO ledger.account (code, asset, home)
     SELECT 'liabilities:agents:bench-' || g || ':credits', 1, g % $2
     FROM generate_series(1, $1) g`,
    [AGENTS, shards],
  )
  await owner.query(
    `INSERT INTO ledger.balance (account, shard, asset, balance, floor)
     SELECT id, home, 1, $1, 0 FROM ledger.account WHERE code LIKE 'liabilities:agents:bench-%'`,
    [PLENTY],
  )
  const books = new Ledger(owner)
  for (let i = 0; i < PROVIDERS; i++) {
    await books.open(`liabilities:providers:bench-${i}:x`, 'USDC')
  }
}

/** Opens the agents and providers of our and of the naive ledger, as the owner of both. */
export async function openBooks(owner: Pool): Promise<void> {
  await openAccounts(owner)
  await owner.query(NAIVE_SCHEMA)
  await owner.query(
    'INSERT INTO naive.account (id, available) SELECT g, $1 FROM generate_series(1, $2) g',
    [PLENTY, 1 + PROVIDERS + AGENTS],
  )
  await owner.query(
    `CREATE TABLE public.entry (
       id uuid PRIMARY KEY, account bigint NOT NULL, amount bigint NOT NULL)`,
  )
}

const amountOf = (): number => 1_000 + Math.floor(Math.random() * 5_000)
const pick = (count: number): number => Math.floor(Math.random() * count)
const newId = (): string => uuidv7(systemClock.now().getTime())

/** Reserves and settles with our ledger, connected as the hub's role. */
export async function ourCalls(
  pool: Pool,
  accounts: Accounts,
  options: LedgerOptions = {},
  prefix: 'bench' | 'bulk' = 'bench',
): Promise<Once> {
  const { rows } = await pool.query<{ id: bigint; code: AccountRef['code']; shard: number }>(
    `SELECT id, code, coalesce(home, 0) AS shard FROM ledger.account
     WHERE code LIKE 'liabilities:%:' || $1 || '-%' ORDER BY id`,
    [prefix],
  )
  const refs = rows.map((row): AccountRef => ({ ...row, asset: 'USDC' }))
  const agents = refs.filter(({ code }) => code.startsWith('liabilities:agents:'))
  const payees = refs.filter(({ code }) => code.startsWith('liabilities:providers:'))
  const callers = accounts === 'hot' ? agents.slice(0, 1) : agents
  const terms = { commissionBps: 1_000, ttlSeconds: 60, endpoint: 1, priceVersion: 1 }
  const books = new Ledger(pool, options)
  return async () => {
    const hold = { call: newId(), owner: callers[pick(callers.length)]! }
    const amount = BigInt(amountOf())
    const payee = payees[pick(payees.length)]!
    const reserved = await books.reserve({ ...hold, ...terms, amount, payee })
    const settled = await books.settle(hold, amount)
    if (reserved.outcome !== 'applied' || settled.outcome !== 'applied') {
      throw new Error(`not applied: ${reserved.outcome}, ${settled.outcome}`)
    }
  }
}

/** Reserves and settles with the naive ledger. */
export function naiveCalls(pool: Pool, accounts: Accounts): Once {
  const agents = accounts === 'hot' ? 1 : AGENTS
  return async () => {
    const agent = 2 + PROVIDERS + pick(agents)
    const call = { id: newId(), agent, provider: 2 + pick(PROVIDERS), amount: amountOf() }
    await naiveReserve(pool, call)
    await naiveSettle(pool, call)
  }
}

/** Inserts `rows` rows durably: the upper limit of this PostgreSQL. */
export function inserts(pool: Pool, rows: number): Once {
  const text = `INSERT INTO public.entry SELECT i, 1, 1 FROM unnest($1::uuid[]) i`
  return async () => {
    await pool.query({ name: 'insert', text, values: [Array.from({ length: rows }, newId)] })
  }
}
