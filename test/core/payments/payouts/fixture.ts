import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Pool } from 'pg'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { systemClock } from '../../../../core/clock.ts'
import { prefixedId, uuidv7 } from '../../../../core/ids.ts'
import type { SingleStepEvent } from '../../../../core/ledger/events.ts'
import { type AccountRef, Ledger } from '../../../../core/ledger/ledger.ts'
import { earningsOf, SPEND } from '../../../../core/ledger/postings.ts'
import { createLog } from '../../../../core/log.ts'
import { micros } from '../../../../core/money.ts'
import { type Hex, USDC_BASE } from '../../../../core/payments/chain/asset.ts'
import type { PayoutDeps } from '../../../../core/payments/payouts/payout.ts'
import type { PayoutRules } from '../../../../core/payments/payouts/rules.ts'
import { createOffers } from '../../../../core/payments/receiving/offers.ts'
import { fund } from '../../../../server/sandbox/wallets.ts'
import { earn } from '../../../support/earn.ts'
import { freshDatabase } from '../../../support/postgres.ts'
import { NETWORK, startStack } from '../stack.ts'

const WORKER = fileURLToPath(new URL('./payout-worker.ts', import.meta.url))
/** Rules that hold nothing back. */
export const LOOSE_RULES: PayoutRules = {
  providerCap: 1_000_000_000_000n,
  platformCap: 1_000_000_000_000n,
  alone: 1_000_000_000_000n,
  firstHours: 0,
  creditHours: 0,
}
export const newId = (): string => uuidv7(systemClock.now().getTime())

export interface Provider {
  readonly id: string
  readonly owner: string
  readonly address: Hex
  /** Earnings accounts on each shard. */
  readonly accounts: readonly AccountRef[]
}

export type PayoutFixture = Awaited<ReturnType<typeof startPayoutFixture>>

/** Inserts a provider with a payout address. */
export async function insertProvider(admin: Pool, id: string) {
  const wallet = privateKeyToAddress(generatePrivateKey()).toLowerCase() as Hex
  const principal = prefixedId('prn')
  await admin.query(
    `WITH owner AS (INSERT INTO hub.principal (id, wallet_address, shard) VALUES ($2, $3, 0)),
       made AS (INSERT INTO hub.provider (id, owner) VALUES ($1, $2))
     INSERT INTO hub.payout_address (provider, address, set_by, nonce, effective_at)
     VALUES ($1, $3, $2, $1, now())`,
    [id, principal, wallet],
  )
  return { principal, wallet }
}

/** Ledger of two shards and a matching chain, with a funded spend wallet. */
export async function startPayoutFixture({ opening = 1_000_000_000n, shards = 2 } = {}) {
  const [database, stack] = await Promise.all([freshDatabase(), startStack()])
  const { pool, admin } = database
  for (let shard = 1; shard < shards; shard++) {
    await pool.query('SELECT ledger.open_shard($1)', [shard])
  }
  const ledger = new Ledger(pool)
  const { wallets, rpcUrl, chain } = stack
  const spend = wallets.spend.account.address
  await fund(rpcUrl, spend, { usdc: opening })
  const owner = await ledger.account(SPEND)
  const { number } = await chain.head()
  const post = async (event: SingleStepEvent, at: AccountRef, meta: object = {}, id = newId()) => {
    const outcome = await ledger.post(event, { owner: at, id, meta: { ...meta } })
    if (outcome !== 'applied') throw new Error(`${event.type}: ${outcome}`)
  }
  const opened = { type: 'balance.opened', account: SPEND, amount: opening } as const
  await post(opened, owner, { block: String(number) })
  const facilitator = stack.facilitatorWith({ pool, confirmationTimeoutMs: 5_000 })
  const offers = createOffers({ facilitator, payTo: stack.payTo, network: NETWORK })
  const lines: string[] = []
  const ports: PayoutDeps = {
    pool,
    ledger,
    chain,
    clock: systemClock,
    log: createLog('warn', { write: (line) => lines.push(line) }),
    asset: USDC_BASE,
    finality: 1n,
    account: wallets.spend.account,
    settle: (...payment) => offers.settle(...payment),
    minimum: micros(1_000_000n),
    rules: LOOSE_RULES,
  }
  const children: ChildProcess[] = []
  let agents = 0
  return {
    ...database,
    stack,
    chain,
    ledger,
    ports,
    spend,
    logged: () => lines.join(''),
    /** Posts earnings of a provider on one shard. */
    earn: (account: AccountRef, amount: bigint) => earn(ledger, account, amount),
    /** Grants credits to an agent on its home shard. */
    async agent(home: number, credits: bigint): Promise<AccountRef> {
      const code = `liabilities:agents:key_${home}x${++agents}:credits`
      const owner = await ledger.open(code, 'USDC', { home })
      await post({ type: 'credits.granted', credits: code, amount: micros(credits) }, owner)
      return owner
    },
    post,
    /** Creates a provider with a payout address and no earnings. */
    async provider(id: string, services = ['svc']): Promise<Provider> {
      const { principal, wallet } = await insertProvider(admin, id)
      const opened = await Promise.all(
        services.map((service) => ledger.open(earningsOf(id, service, false), 'USDC')),
      )
      const accounts = opened.flatMap((account) =>
        Array.from({ length: shards }, (_, shard) => ({ ...account, shard })),
      )
      return { id, owner: principal, address: wallet, accounts }
    },
    /** Starts a process that pays until nothing is left to do. */
    async payer(again = 1, rules = LOOSE_RULES) {
      const keys = [wallets.spend.key, wallets.gas.key]
      const text = JSON.stringify(rules, (_, value: unknown) =>
        typeof value === 'bigint' ? String(value) : value,
      )
      const args = [WORKER, rpcUrl, database.url, ...keys, String(again), text]
      const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
      children.push(child)
      const exited = once(child, 'exit')
      await once(child.stdout, 'data')
      return { kill: () => child.kill('SIGKILL') && exited, exited }
    },
    async stop() {
      for (const child of children) child.kill('SIGKILL')
      await stack.stop()
      await database.drop()
    },
  }
}

/**
 * Moves the payouts of a provider to the day before. Those of today are replaced by failed ones, so
 * that the next one gets another nonce on the chain.
 */
export const backdatePayouts = (admin: Pool, provider: string) =>
  admin.query(`ALTER TABLE hub.payout DISABLE TRIGGER USER;
    -- By way of days without payouts, since each row is checked when it is changed.
    UPDATE hub.payout SET batch = batch - 1000 WHERE provider = '${provider}';
    UPDATE hub.payout SET batch = batch + 999, started_at = started_at - interval '1 d'
      WHERE provider = '${provider}';
    INSERT INTO hub.payout (id, provider, batch, attempt, amount, recovered, shard, payer, payee,
        nonce, valid_before, from_block, state, ended_at)
      SELECT gen_random_uuid(), provider, batch + 1, n, amount, recovered, shard, payer,
        payee, '0x' || md5(random()::text) || md5(random()::text), valid_before, from_block,
        'failed', now()
      FROM hub.payout, generate_series(1, attempt) n
      WHERE provider = '${provider}' AND state = 'confirmed' AND batch = current_date - 1;
    ALTER TABLE hub.payout ENABLE TRIGGER USER`)
