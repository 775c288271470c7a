import { createHash } from 'node:crypto'
import { DatabaseError, type Pool, type PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import { logFailure } from '../../outages.ts'
import type { Hex } from '../chain/asset.ts'
import type { ChainHead } from '../chain/chain.ts'
import { blockBefore } from '../chain/verdict.ts'
import { OutgoingSwitch } from '../operations/outgoing-switch.ts'
import { readDebts } from './debts.ts'
import type { PayoutDeps } from './payout.ts'
import {
  deductRounding,
  lockEarnings,
  payoutLedger,
  postPayoutStart,
  readRounding,
  recoverDebt,
  sumAmounts,
  takeUpTo,
} from './payout-entries.ts'
import { OWED_SQL, PAYOUT_WAITS, rulesSql, ruleValues, type WaitingRule } from './rules.ts'

/** Validity of an authorization. If it expires unused, the amount is owed again. */
const LIFETIME_MS = 1_800_000
const MS_PER_SECOND = 1_000n
/** Limit of one run; the next run continues. */
const PAYEES_MAX = 5_000
const PAYMENTS_PAUSED = 'AH010'

/** A provider to be paid today. */
interface DuePayee {
  readonly provider: string
  readonly owner: string
  /** Amount of the payout in microdollars, before debts. */
  readonly amount: bigint
  /** Rule by which it waits, apart from the caps of the day. */
  readonly rule: WaitingRule | null
}

/**
 * Starts a payout for every provider that is owed the minimum, has an address and was not paid on
 * this UTC day, unless it waits by a rule. One transaction per provider recovers debts, deducts
 * commission that rounding left, posts the earnings as in transit and stores the authorization that
 * will pay them. Sends nothing.
 * @returns the number of payouts started
 */
export async function startPayouts(deps: PayoutDeps, stopping?: AbortSignal): Promise<number> {
  const { pool, chain, log } = deps
  const paused = (await new OutgoingSwitch(pool).state())?.paused
  const found = paused ? [] : await findDuePayees(deps)
  await recordFirstDue(pool, found)
  const due = found.filter(({ rule }) => rule === null)
  if (due.length === 0) return 0
  const debtors = await readDebts(pool)
  const head = await chain.head()
  let free = await readSpendable(deps)
  let started = 0
  let missing = 0n
  for (const { provider, amount: wanted } of due) {
    if (stopping?.aborted) break
    if (wanted > free) {
      missing += wanted
      continue
    }
    const order = { provider, hasDebt: debtors.has(provider), head }
    const amount = await startPayout(deps, order).catch((error: unknown) => {
      if (error instanceof DatabaseError && error.code === PAYMENTS_PAUSED) return PAYMENTS_PAUSED
      if (error instanceof DatabaseError && error.code === PAYOUT_WAITS) return 0n
      logFailure(log, 'error', { err: error, provider }, 'a payout could not be started')
      return 0n
    })
    if (amount === PAYMENTS_PAUSED) break
    free -= amount
    if (amount > 0n) started++
  }
  if (missing > 0n) {
    const details = { wallet: deps.account.address, missing: String(missing - free) }
    log.error(details, 'the spend wallet cannot pay all providers: send USDC to it')
  }
  return started
}

/** Providers that may be paid. A pending address change blocks payouts, as it may be hostile. */
const PAYABLE_SQL = `FROM hub.provider p JOIN hub.payout_destination d ON d.provider = p.id
  CROSS JOIN (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS day) t
  CROSS JOIN LATERAL (SELECT ${OWED_SQL} AS owed) o
  WHERE d.address IS NOT NULL AND d.next IS NULL AND p.suspended_at IS NULL
    AND NOT EXISTS (SELECT FROM hub.payout k WHERE k.provider = p.id
      AND (k.state = 'started' OR k.batch = t.day AND k.state <> 'failed'))`

/**
 * Those that need not wait come first, and of these the ones that were paid longest ago, so that
 * neither waiting providers nor the cap of a day keep others from being paid.
 */
async function findDuePayees({ pool, minimum, rules }: PayoutDeps): Promise<readonly DuePayee[]> {
  const { rows } = await pool.query<DuePayee>(
    `SELECT due.provider, due.owner, due.amount, h.rule
     FROM (SELECT p.id AS provider, p.owner, d.address, o.owed, hub.payout_amount(p.id, d.address,
         o.owed, ${rulesSql(3)}) AS amount ${PAYABLE_SQL} AND o.owed >= $1 AND o.owed > 0) due
     LEFT JOIN LATERAL hub.payout_hold(due.provider, due.address, due.amount, ${rulesSql(3)}) h
       ON true
     ORDER BY h.rule IS NOT NULL, (SELECT max(l.batch) FROM hub.payout l
       WHERE l.provider = due.provider AND l.state <> 'failed') NULLS FIRST, due.provider LIMIT $2`,
    [minimum, PAYEES_MAX, ...ruleValues(rules)],
  )
  return rows
}

/** Records when the first payout to an owner became due, because its wait begins then. */
async function recordFirstDue(pool: Pool, due: readonly DuePayee[]): Promise<void> {
  const first = due.filter(({ rule }) => rule === 'first_payout')
  if (first.length === 0) return
  await pool.query(
    `INSERT INTO hub.payout_first (provider, owner) SELECT * FROM unnest($1::text[], $2::text[])
     ON CONFLICT DO NOTHING`,
    [first.map(({ provider }) => provider), first.map(({ owner }) => owner)],
  )
}

/** Balance of the spend wallet on chain, minus everything already signed for. */
async function readSpendable({ pool, chain, account }: PayoutDeps): Promise<bigint> {
  const held = await chain.balanceOf(account.address)
  const { rows } = await pool.query<{ signed: bigint }>(
    `SELECT coalesce(sum(amount), 0)::bigint AS signed FROM (
       SELECT amount FROM hub.payment_intent WHERE state IN ('signed', 'unresolved', 'paid')
       UNION ALL SELECT amount FROM hub.payout WHERE state = 'started') o`,
  )
  return held - rows[0]!.signed
}

interface PayoutOrder {
  readonly provider: string
  readonly hasDebt: boolean
  /** The newest block of the chain. */
  readonly head: ChainHead
}

/** @returns the amount; zero if nothing was started or another process holds the provider */
function startPayout(deps: PayoutDeps, order: PayoutOrder): Promise<bigint> {
  const { provider, hasDebt, head } = order
  return inTransaction(deps.pool, async (client) => {
    const locked = await client.query(
      'SELECT FROM hub.provider WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED',
      [provider],
    )
    const terms = locked.rowCount === 1 ? await readTerms(client, provider) : undefined
    if (!terms) return 0n
    const ledger = payoutLedger(deps, client)
    const earned = await lockEarnings(client, provider)
    const left = hasDebt ? await recoverDebt(client, ledger, provider, earned) : earned
    const recovered = sumAmounts(earned) - sumAmounts(left)
    const taken = takeUpTo(left, await readMaximum(client, deps, terms.payee, provider))
    const parts = deductRounding(taken, await readRounding(client, taken))
    const amount = sumAmounts(parts)
    if (amount === 0n || amount < deps.minimum) return 0n
    const { shard } = parts[0]!.owner
    const payout = { ...terms, id: ledger.newId(), provider, amount, recovered, shard }
    await insertPayout(client, deps, head, payout)
    await postPayoutStart(client, ledger, payout, parts)
    return amount
  })
}

interface PayoutTerms {
  readonly payee: Hex
  readonly batch: string
  readonly attempt: number
}

/** Reads the terms again under the lock, because another process may have paid meanwhile. */
async function readTerms(client: PoolClient, provider: string): Promise<PayoutTerms | undefined> {
  const { rows } = await client.query<PayoutTerms>(
    `SELECT d.address AS payee, t.day::text AS batch, (SELECT count(*)::integer + 1
       FROM hub.payout o WHERE o.provider = p.id AND o.batch = t.day) AS attempt
     ${PAYABLE_SQL} AND p.id = $1`,
    [provider],
  )
  return rows[0]
}

/** Reads how much the next payout of a provider may be. */
async function readMaximum(
  client: PoolClient,
  { rules }: PayoutDeps,
  payee: Hex,
  provider: string,
): Promise<bigint> {
  const { rows } = await client.query<{ maximum: bigint }>(
    `SELECT hub.payout_amount($1, $2, NULL, ${rulesSql(3)}) AS maximum`,
    [provider, payee, ...ruleValues(rules)],
  )
  return rows[0]!.maximum
}

/** Derives the nonce from provider, day and attempt, so that the chain accepts one payment. */
const payoutNonce = ({ provider, batch, attempt }: NewPayout): Hex => {
  const seed = `agenthub payout\n${provider}\n${batch}\n${attempt}`
  return `0x${createHash('sha256').update(seed).digest('hex')}`
}

interface NewPayout extends PayoutTerms {
  readonly id: string
  readonly provider: string
  readonly amount: bigint
  readonly recovered: bigint
  readonly shard: number
}

const insertPayout = (client: PoolClient, deps: PayoutDeps, head: ChainHead, payout: NewPayout) => {
  const { account, clock } = deps
  const now = Math.max(head.time.getTime(), clock.now().getTime())
  const validBefore = (BigInt(now + LIFETIME_MS) / MS_PER_SECOND) * MS_PER_SECOND
  return client.query(
    `INSERT INTO hub.payout (id, provider, batch, attempt, amount, recovered, shard, payer, payee,
       nonce, valid_before, from_block, rules)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, ${rulesSql(13)})`,
    [
      payout.id,
      payout.provider,
      payout.batch,
      payout.attempt,
      payout.amount,
      payout.recovered,
      payout.shard,
      account.address.toLowerCase(),
      payout.payee,
      payoutNonce(payout),
      new Date(Number(validBefore)),
      blockBefore(head, new Date(`${payout.batch}T00:00:00Z`)),
      ...ruleValues(deps.rules),
    ],
  )
}
