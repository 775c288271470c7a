import { createHash } from 'node:crypto'
import { DatabaseError, type Pool, type PoolClient } from 'pg'
import { inTransaction } from '../../db/transaction.ts'
import type { Micros } from '../../money.ts'
import type { Hex } from '../chain/asset.ts'
import { OutgoingSwitch } from '../operations/switch.ts'
import { bookkeeper, type Part, recover, take, total } from './book.ts'
import { debtOf, debts } from './debts.ts'
import type { PayoutPorts } from './ports.ts'

/** How long an authorization may wait for a block. What was not taken by then is owed again. */
const LIFETIME_MS = 1_800_000
const MS_PER_SECOND = 1_000n
/** Before the day began, in case a backup that was restored has forgotten a payout of the day. */
const LOOK_BACK_BLOCKS = 1_000n
/** Of one run; the next one goes on. */
const PAYEES_MAX = 5_000
const PAUSED = 'AH010'

/** Somebody who is to be paid today. */
interface Due {
  readonly provider: string
  /** Microdollars, before debts. */
  readonly owed: bigint
}

/**
 * Starts a payout for every provider who is owed the minimum, has an address, and was not paid on
 * this UTC day: takes what was earned out of the books and keeps the authorization that will pay
 * it, in one transaction each. Debts are recovered first. Nothing is sent.
 * @returns how many were started
 */
export async function startPayouts(ports: PayoutPorts, stopping?: AbortSignal): Promise<number> {
  const { pool, chain, log, minimum } = ports
  const paused = (await new OutgoingSwitch(pool).state())?.paused
  const due = paused ? [] : await duePayees(pool, minimum)
  if (due.length === 0) return 0
  const owing = await debts(pool)
  const { number: head, time: chainTime } = await chain.head()
  let free = await freeToSpend(ports)
  let started = 0
  let missing = 0n
  for (const { provider, owed } of due) {
    if (stopping?.aborted) break
    if (owed > free) {
      missing += owed
      continue
    }
    const order = { provider, owes: owing.has(provider), head, chainTime }
    const amount = await startPayout(ports, order).catch((error: unknown) => {
      if (error instanceof DatabaseError && error.code === PAUSED) return PAUSED
      log.error({ err: error, provider }, 'a payout could not be started')
      return 0n
    })
    if (amount === PAUSED) break
    free -= amount
    if (amount > 0n) started++
  }
  if (missing > 0n) {
    const told = { wallet: ports.account.address, missing: String(missing - free) }
    log.error(told, 'the spend wallet cannot pay all providers: send USDC to it')
  }
  return started
}

const OWED = `(SELECT coalesce(sum(b.balance), 0)::bigint FROM ledger.account a
  JOIN ledger.balance b ON b.account = a.id
  WHERE a.code LIKE 'liabilities:providers:%' AND split_part(a.code, ':', 3) = p.id)`

/** While a change of the address waits, nobody knows whose wish it is. */
const PAYABLE = `FROM hub.provider p JOIN hub.payout_destination d ON d.provider = p.id
  CROSS JOIN (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date AS day) t
  WHERE d.address IS NOT NULL AND d.next IS NULL AND p.suspended_at IS NULL
    AND NOT EXISTS (SELECT FROM hub.payout o WHERE o.provider = p.id
      AND (o.state = 'started' OR o.batch = t.day AND o.state <> 'failed'))`

async function duePayees(pool: Pool, minimum: Micros): Promise<readonly Due[]> {
  const { rows } = await pool.query<Due>(
    `SELECT * FROM (SELECT p.id AS provider, ${OWED} AS owed ${PAYABLE}) due
     WHERE owed >= $1 AND owed > 0 ORDER BY provider LIMIT $2`,
    [minimum, PAYEES_MAX],
  )
  return rows
}

/** What the spend wallet has on chain, beyond all that may be taken out of it already. */
async function freeToSpend({ pool, chain, account }: PayoutPorts): Promise<bigint> {
  const held = await chain.balanceOf(account.address)
  const { rows } = await pool.query<{ signed: bigint }>(
    `SELECT coalesce(sum(amount), 0)::bigint AS signed FROM (
       SELECT amount FROM hub.payment_intent WHERE state IN ('signed', 'unresolved', 'paid')
       UNION ALL SELECT amount FROM hub.payout WHERE state = 'started') o`,
  )
  return held - rows[0]!.signed
}

interface Order {
  readonly provider: string
  readonly owes: boolean
  /** The newest block of the chain, and its time. */
  readonly head: bigint
  readonly chainTime: Date
}

/** @returns what will be paid; zero: nothing was started, or another process is at it */
function startPayout(ports: PayoutPorts, order: Order): Promise<bigint> {
  const { provider, owes } = order
  return inTransaction(ports.pool, async (client) => {
    const locked = await client.query(
      'SELECT FROM hub.provider WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED',
      [provider],
    )
    const terms = locked.rowCount === 1 ? await termsOf(client, provider) : undefined
    if (!terms) return 0n
    const book = bookkeeper(ports, client)
    const earned = await holdStill(client, provider)
    const debt = owes ? await debtOf(client, provider) : 0n
    const parts = await recover(book, provider, earned, debt)
    const amount = total(parts)
    if (amount === 0n || amount < ports.minimum) return 0n
    const recovered = total(earned) - amount
    const [{ owner: first }] = parts as [Part]
    const id = book.newId()
    await keep(client, ports, order, { ...terms, id, amount, recovered, shard: first.shard })
    await take(client, book, { id, provider, shard: first.shard }, parts)
    return amount
  })
}

interface Terms {
  readonly payee: Hex
  readonly batch: string
  readonly attempt: number
}

/** Looked at again under the lock: another process may have been quicker. */
async function termsOf(client: PoolClient, provider: string): Promise<Terms | undefined> {
  const { rows } = await client.query<Terms>(
    `SELECT d.address AS payee, t.day::text AS batch, (SELECT count(*)::integer + 1
       FROM hub.payout o WHERE o.provider = p.id AND o.batch = t.day) AS attempt
     ${PAYABLE} AND p.id = $1`,
    [provider],
  )
  return rows[0]
}

/** All that a provider has, by shard. Nobody changes it until the transaction ends. */
async function holdStill(client: PoolClient, provider: string): Promise<readonly Part[]> {
  const earned = `FROM ledger.account a JOIN ledger.balance b ON b.account = a.id
    WHERE a.code LIKE 'liabilities:providers:%' AND split_part(a.code, ':', 3) = $1
      AND b.balance > 0`
  const { rows: places } = await client.query<{ shard: number }>(
    `SELECT DISTINCT b.shard ${earned}`,
    [provider],
  )
  const shards = places.map(({ shard }) => shard)
  await client.query('SELECT ledger.hold_still($1)', [shards])
  const { rows } = await client.query<{ id: bigint; code: string; shard: number; amount: Micros }>(
    `SELECT a.id, a.code, b.shard, b.balance AS amount ${earned} AND b.shard = ANY ($2)
     ORDER BY b.shard, a.id`,
    [provider, shards],
  )
  return rows.map(({ amount, ...account }) => ({ owner: { ...account, asset: 'USDC' }, amount }))
}

/**
 * The nonce follows from provider, day and attempt: a backup that was restored signs the same
 * payment again, which the chain takes once.
 */
const nonceOf = (provider: string, { batch, attempt }: Terms): Hex => {
  const seed = `agenthub payout\n${provider}\n${batch}\n${attempt}`
  return `0x${createHash('sha256').update(seed).digest('hex')}`
}

interface Made extends Terms {
  readonly id: string
  readonly amount: bigint
  readonly recovered: bigint
  readonly shard: number
}

/** A block before the day began, taking a block a second as the quickest pace. */
function firstBlock({ head, chainTime }: Order, { batch }: Terms): bigint {
  const ms = chainTime.getTime() - new Date(`${batch}T00:00:00Z`).getTime()
  const block = head - BigInt(Math.max(0, ms)) / MS_PER_SECOND - LOOK_BACK_BLOCKS
  return block > 0n ? block : 0n
}

const keep = (client: PoolClient, { account, clock }: PayoutPorts, order: Order, made: Made) => {
  const { provider, chainTime } = order
  const now = Math.max(chainTime.getTime(), clock.now().getTime())
  const validBefore = (BigInt(now + LIFETIME_MS) / MS_PER_SECOND) * MS_PER_SECOND
  return client.query(
    `INSERT INTO hub.payout (id, provider, batch, attempt, amount, recovered, shard, payer, payee,
       nonce, valid_before, from_block)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      made.id,
      provider,
      made.batch,
      made.attempt,
      made.amount,
      made.recovered,
      made.shard,
      account.address.toLowerCase(),
      made.payee,
      nonceOf(provider, made),
      new Date(Number(validBefore)),
      firstBlock(order, made),
    ],
  )
}
