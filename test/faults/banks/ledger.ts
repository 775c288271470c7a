import { isDistributed } from '../../../core/db/citus/is-distributed.ts'
import { ShardConnections } from '../../../core/db/citus/shard-connections.ts'
import { migrate } from '../../../core/db/migrate.ts'
import { createPool } from '../../../core/db/pool.ts'
import { openShards } from '../../../core/identity/shards.ts'
import type { LedgerOutcome } from '../../../core/ledger/events.ts'
import { expireHolds } from '../../../core/ledger/expire.ts'
import { type AccountRef, Ledger } from '../../../core/ledger/ledger.ts'
import { trialBalance } from '../../../core/ledger/trial-balance.ts'
import { verifyLedger } from '../../../core/ledger/verify.ts'
import { micros } from '../../../core/money.ts'
import { type Bank, type BankState, BPS, type Entry, type Step } from '../bank/bank.ts'

/** Description of a bank backed by the real ledger. */
export interface LedgerSpec {
  readonly bank: 'ledger'
  readonly url: string
  /** True if Citus distributes it: batches go straight to the workers. */
  readonly isDistributed: boolean
  readonly agents: readonly AccountRef[]
  readonly payees: readonly AccountRef[]
}

const PAYEES = 3
const WHAT: Readonly<Record<number, Entry['what']>> = {
  1: 'reserve',
  2: 'settle',
  3: 'release',
  4: 'expire',
  16: 'fund',
}

/**
 * Creates the real ledger with `agents` accounts in an empty database, or in a migrated one without
 * accounts.
 */
export async function openLedgerBank(url: string, agents: number, shards = 2): Promise<LedgerSpec> {
  await migrate(url)
  const pool = createPool(url, { role: 'hub_finance', max: 4 })
  try {
    await openShards(pool, shards)
    const ledger = new Ledger(pool)
    const accounts: AccountRef[] = [] // one after the other: two banks have the same ids
    for (let i = 0; i < agents; i++) {
      const code = `liabilities:agents:key_${i}:credits`
      accounts.push(await ledger.open(code, 'USDC', { home: i % shards }))
    }
    const payees: AccountRef[] = []
    for (let i = 0; i < PAYEES; i++) {
      payees.push(await ledger.open(`liabilities:providers:p${i}:x`, 'USDC'))
    }
    const place = { url, isDistributed: await isDistributed(pool) }
    return { bank: 'ledger', ...place, agents: accounts, payees }
  } finally {
    await pool.end()
  }
}

export interface LedgerBank extends Bank {
  /** Releases one expired hold. */
  expireHold(hold: Pick<Step, 'id' | 'agent'>): Promise<LedgerOutcome>
}

/** Bank backed by the real ledger. */
export function ledgerBank(spec: LedgerSpec): LedgerBank {
  const { url, agents, payees } = spec
  const options = { role: 'hub_finance', max: 6 } as const
  const pool = createPool(url, options)
  const workers = spec.isDistributed ? new ShardConnections(pool, options) : undefined
  const databaseOf = workers && ((shard: number) => workers.databaseOf(shard))
  const ledger = new Ledger(pool, { databaseOf })
  const holdOf = ({ id, agent }: Pick<Step, 'id' | 'agent'>) => ({
    call: id,
    owner: agents[agent]!,
  })
  return {
    fund: ({ id, agent, amount }) => {
      const owner = agents[agent]!
      const credits = owner.code
      return ledger.post(
        { type: 'credits.purchased', credits, amount: micros(amount) },
        { owner, id },
      )
    },
    async reserve(step) {
      const payee = payees[step.agent % payees.length]!
      const { amount, ttlSeconds } = step
      const order = { ...holdOf(step), payee, amount, commissionBps: BPS, ttlSeconds }
      return (await ledger.reserve(order)).outcome
    },
    settle: async (step) => (await ledger.settle(holdOf(step), step.amount)).outcome,
    release: async (step) => (await ledger.release(holdOf(step))).outcome,
    expireHold: async (hold) => (await ledger.expire(holdOf(hold))).outcome,
    async expire() {
      await expireHolds(pool, ledger)
      const { rows } = await pool.query<{ open: bigint }>(
        'SELECT count(*) AS open FROM ledger.open_hold',
      )
      return rows[0]!.open
    },
    audit: () => audit(url, agents),
    close: async () => void (await Promise.all([workers?.close(), pool.end()])),
  }
}

async function audit(url: string, agents: readonly AccountRef[]): Promise<BankState> {
  const pool = createPool(url, { role: 'hub_app', max: 2, statementMs: 0 })
  try {
    const numbers = new Map(agents.map(({ id }, i) => [id, i]))
    const { rows } = await pool.query<{ id: string; owner: bigint; kind: number; amount: bigint }>(
      `SELECT id, owner, kind, CASE kind WHEN 16 THEN abs(amounts[1]) ELSE amount END AS amount
       FROM ledger.journal ORDER BY shard, seq`,
    )
    const entries = rows.map(({ id, owner, kind, amount }) => ({
      what: WHAT[kind]!,
      id,
      agent: numbers.get(owner) ?? -1,
      amount,
    }))
    const balances = await trialBalance(pool)
    const balanceOf = new Map(balances.map(({ account, balance }) => [account, balance]))
    const { checks } = await verifyLedger(pool)
    return {
      entries,
      agents: agents.map(({ code }) => balanceOf.get(code) ?? 0n),
      holds: balanceOf.get('liabilities:holds') ?? 0n,
      commission: balanceOf.get('income:commission') ?? 0n,
      providers: balances
        .filter(({ account }) => account.startsWith('liabilities:providers:'))
        .reduce((sum, { balance }) => sum + balance, 0n),
      findings: checks
        .filter(({ bad }) => bad > 0n)
        .map(({ name, bad, example }) => `${name}: ${bad}, ${example}`),
    }
  } finally {
    await pool.end()
  }
}
