import type { Pool, PoolClient } from 'pg'
import type { Clock } from '../clock.ts'
import { inTransaction } from '../db/transaction.ts'
import { uuidv7 } from '../ids.ts'
import { readBalances } from '../ledger/account-balances.ts'
import { ledgerInTransaction, type PostingLedger } from '../ledger/in-transaction.ts'
import { readHeads } from '../ledger/shards.ts'
import type { Mail } from '../mail/queue.ts'
import { creditsExpiringMail } from '../mail/templates.ts'
import { dollars, json, micros } from '../money.ts'
import { mailOwner } from '../providers/notify-owner.ts'
import { emit } from '../webhooks/events.ts'

/** Rule by which credits expire. */
export interface CreditPolicy {
  /** Age in days at which unspent credits expire; undefined: never. */
  readonly expireDays: number | undefined
  /** Days between the notice and the expiry. */
  readonly noticeDays: number
}

export interface ExpiryDeps {
  /** Connections that may post entries. */
  readonly pool: Pool
  readonly ledger: PostingLedger
  readonly clock: Clock
}

/** Author of the entries. */
const AUTHOR = 'expire-credits'
/** Limit of one run; the next run continues. */
const NOTICES_MAX = 1_000
/** Above the number of every entry. */
const NO_END = 9_223_372_036_854_775_807n

/**
 * Notifies holders of credits that will expire, and posts those of due notices as income. The
 * oldest credits are spent first; reserved ones do not expire. May run twice and after a crash.
 * @returns the number of notices sent and of due ones that ended
 */
export async function expireCredits(
  deps: ExpiryDeps,
  { expireDays, noticeDays }: CreditPolicy,
  stopping?: AbortSignal,
): Promise<{ readonly noticed: number; readonly ended: number }> {
  if (expireDays === undefined) return { noticed: 0, ended: 0 }
  const ended = await lapseDue(deps, stopping)
  const { rows } = await deps.pool.query<Expiring>(
    `SELECT e.principal, e.amount, t.before
     FROM (SELECT now() - make_interval(days => $1) AS before) t, hub.expired_credits(t.before) e
     WHERE NOT EXISTS (SELECT 1 FROM hub.lapse_notice n
       WHERE n.principal = e.principal AND n.done_at IS NULL)
     ORDER BY e.principal LIMIT ${NOTICES_MAX}`,
    [expireDays - noticeDays],
  )
  for (const expiring of rows) {
    if (stopping?.aborted) break
    await inTransaction(deps.pool, (client) => notify(client, deps.clock, expiring, noticeDays))
  }
  return { noticed: rows.length, ended }
}

interface Expiring {
  readonly principal: string
  readonly amount: bigint
  readonly before: Date
}

/** Stores a notice and sends it by webhook and email. */
async function notify(
  client: PoolClient,
  clock: Clock,
  { principal, amount, before }: Expiring,
  noticeDays: number,
): Promise<void> {
  const id = uuidv7(clock.now().getTime())
  const { rows } = await client.query<{ due: Date }>(
    `INSERT INTO hub.lapse_notice (id, principal, amount, bought_before, due_at)
     VALUES ($1, $2, $3, $4, clock_timestamp() + make_interval(days => $5))
     ON CONFLICT (principal) WHERE done_at IS NULL DO NOTHING RETURNING due_at AS due`,
    [id, principal, amount, before, noticeDays],
  )
  if (!rows[0]) return // another process was faster
  await emit(client, principal, 'credits.expiring', {
    amount_microdollars: json(amount),
    expires_at: rows[0].due.toISOString(),
  })
  await mailOwner(client, principal, 'credits-expiring', id)
}

interface DueNotice {
  readonly id: string
  readonly principal: string
  readonly amount: bigint
  readonly shard: number
  /** Unspent credits that expired, which include all entries up to `seq` of the shard. */
  readonly expired: bigint
  readonly seq: bigint
}

/** Ends notices that are due. @returns their number */
async function lapseDue({ pool, ledger }: ExpiryDeps, stopping?: AbortSignal): Promise<number> {
  const { rows: moments } = await pool.query<{ before: Date }>(
    `SELECT DISTINCT bought_before AS before FROM hub.lapse_notice
     WHERE done_at IS NULL AND due_at <= clock_timestamp() ORDER BY 1`,
  )
  let ended = 0
  for (const { before } of moments) {
    const heads = await readHeads(pool)
    const { rows } = await pool.query<DueNotice>(
      `SELECT n.id, n.principal, n.amount, p.shard, coalesce(e.amount, 0) AS expired, h.seq
       FROM hub.lapse_notice n JOIN hub.principal p ON p.id = n.principal
       JOIN unnest($2::smallint[], $3::bigint[]) h(shard, seq) ON h.shard = p.shard
       LEFT JOIN hub.expired_credits($1) e ON e.principal = n.principal
       WHERE n.done_at IS NULL AND n.due_at <= clock_timestamp() AND n.bought_before = $1`,
      [before, [...heads.keys()], [...heads.values()]],
    )
    for (const notice of rows) {
      if (stopping?.aborted) return ended
      if (await inTransaction(pool, (client) => lapse(client, ledger, notice, before))) ended++
    }
  }
  return ended
}

interface CreditsAccount {
  readonly id: bigint
  readonly code: string
  /** True if an entry changed it since the expired credits were computed. */
  readonly changed: boolean
}

/** Posts the expired credits of a notice. @returns false if the credits changed meanwhile */
async function lapse(
  client: PoolClient,
  ledger: PostingLedger,
  { id, principal, amount, shard, expired, seq }: DueNotice,
  before: Date,
): Promise<boolean> {
  const open = await client.query(
    'SELECT FROM hub.lapse_notice WHERE id = $1 AND done_at IS NULL FOR UPDATE SKIP LOCKED',
    [id],
  )
  if (open.rowCount !== 1) return false
  await client.query('SELECT ledger.hold_still(ARRAY[$1::smallint])', [shard])
  const { rows: accounts } = await client.query<CreditsAccount>(
    `SELECT a.id, a.code,
       EXISTS (SELECT 1 FROM ledger.next_entries(a.id, $2, $3, ${NO_END}, 1)) AS changed
     FROM hub.api_key k JOIN ledger.account a ON a.id = k.credits
     WHERE k.principal = $1 AND k.parent IS NULL ORDER BY k.created_at, k.id`,
    [principal, shard, seq],
  )
  if (accounts.some(({ changed }) => changed)) return false
  const balances = await readBalances(
    client,
    accounts.map((account) => ({ credits: account.id, shard })),
  )
  const poster = ledgerInTransaction(ledger, client)
  let left = expired < amount ? expired : amount
  const lapsed = left
  const reason = `Credits from before ${before.toISOString()} expired.`
  for (const { id: account, code } of accounts) {
    const balance = balances.get(account) ?? 0n
    const part = micros(balance < left ? balance : left)
    if (part === 0n) continue
    left -= part
    const event = { type: 'credits.lapsed', credits: code, amount: part } as const
    const meta = { author: AUTHOR, reason, notice: id }
    const outcome = await poster.post(event, { owner: await poster.account(code), id, meta })
    if (outcome !== 'applied') throw new Error(`expired credits of ${code}: ${outcome}`)
  }
  await client.query(
    'UPDATE hub.lapse_notice SET done_at = clock_timestamp(), lapsed = $2 WHERE id = $1',
    [id, lapsed],
  )
  if (lapsed > 0n) {
    await emit(client, principal, 'credits.lapsed', { amount_microdollars: json(lapsed) })
  }
  return true
}

/** Composes the email of a notice; undefined if the notice has ended. */
export async function composeExpiryMail(
  pool: Pool,
  recipient: string,
  subject: string,
  baseUrl: string,
): Promise<Mail | undefined> {
  const { rows } = await pool.query<{ amount: bigint; due: Date }>(
    'SELECT amount, due_at AS due FROM hub.lapse_notice WHERE id = $1 AND done_at IS NULL',
    [subject],
  )
  const [notice] = rows
  if (!notice) return undefined
  const { host } = new URL(baseUrl)
  return creditsExpiringMail(recipient, host, dollars(notice.amount), notice.due)
}
