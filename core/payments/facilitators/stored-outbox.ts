import { createHash } from 'node:crypto'
import { DatabaseError, type Pool, type PoolClient } from 'pg'
import { elapsedMs } from '../../clock.ts'
import { inTransaction } from '../../db/transaction.ts'
import type { Hex } from '../chain/asset.ts'
import {
  assertNotTimedOut,
  broadcastWithFreeNonce,
  type Outbox,
  type OutboxCall,
  PAYMENT_PENDING,
  type SignedTransaction,
} from './outbox.ts'

/** A key on a chain. */
export interface KeyOnChain {
  readonly chainId: number
  readonly address: Hex
}

/** What waits to be sent. */
interface QueuedCall {
  readonly wire: OutboxCall
  /** sha256 of each payment that it settles. */
  readonly payments: readonly Buffer[]
  readonly askedMs: number
  readonly resolve: (sent: SignedTransaction) => void
  readonly reject: (error: unknown) => void
}

/** Nodes behind one address may lag; what they do not know after this long is lost. */
const NODE_LAG_SECONDS = 30
/** Sent while the wallet is locked once; then it is another process's turn. */
const BATCH_SIZE = 16

/**
 * Kept in PostgreSQL: for a key that several processes send with, and for transactions that must
 * survive each of them. A transaction is committed before it leaves. Whoever comes after a crash
 * sends it once more under its own number, so that no number is used twice and none is left out.
 * @param pool at least two connections; no other work may hold one while it waits for this
 */
export function createStoredOutbox(pool: Pool, key: KeyOnChain): Outbox {
  const waiting: QueuedCall[] = []
  let working = false
  const work = async (): Promise<void> => {
    if (working) return
    working = true
    while (waiting.length > 0) await sendBatch(pool, key, waiting.splice(0, BATCH_SIZE))
    working = false
  }
  return {
    send: (wire, settled = []) =>
      new Promise((resolve, reject) => {
        const payments = settled.map(sha256)
        waiting.push({ wire, payments, askedMs: elapsedMs(), resolve, reject })
        void work()
      }),
    findPending: (payment) => findPending(pool, sha256(payment)),
    async markMined(hash) {
      await pool.query('DELETE FROM hub.sent_payment WHERE hash = $1', [hash])
    },
  }
}

/** Sends what waits, one after the other, while the wallet is locked. Never throws. */
async function sendBatch(
  pool: Pool,
  key: KeyOnChain,
  orders: readonly QueuedCall[],
): Promise<void> {
  const wallet = [key.chainId, key.address.toLowerCase()] as const
  try {
    await inTransaction(pool, async (client) => {
      await lockWallet(pool, client, wallet)
      let next: number | undefined // until the node has to be asked
      for (const order of orders) {
        try {
          assertNotTimedOut(order.askedMs)
          next ??= await firstFreeNonce(client, order.wire, wallet)
          const placed = await sendOnce(pool, wallet, order, next)
          next = placed.taken ? placed.sent.nonce + 1 : undefined
          order.resolve(placed.sent)
        } catch (error) {
          next = undefined
          order.reject(error)
        }
      }
    })
  } catch (error) {
    for (const order of orders) order.reject(error) // those that were sent have been resolved
  }
}

type WalletKey = readonly [chainId: number, address: string]

async function lockWallet(pool: Pool, client: PoolClient, wallet: WalletKey): Promise<void> {
  const { rowCount } = await client.query(LOCK_SQL, [...wallet])
  if (rowCount === 1) return
  await pool.query(
    'INSERT INTO hub.wallet_nonce (chain_id, address) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [...wallet],
  )
  await client.query(LOCK_SQL, [...wallet])
}

const LOCK_SQL = 'SELECT FROM hub.wallet_nonce WHERE chain_id = $1 AND address = $2 FOR UPDATE'

/**
 * The first number that no transaction has: after those that the node counts, and after those of
 * ours that it has not seen yet and is sent now.
 * @throws Error when the node does not answer
 */
async function firstFreeNonce(
  client: PoolClient,
  { countTransactions: count, broadcast }: OutboxCall,
  wallet: WalletKey,
): Promise<number> {
  let next = await count()
  const { rows } = await client.query<TransactionRow>(
    `SELECT DISTINCT ON (nonce) ${TRANSACTION_COLUMNS} FROM hub.sent_transaction
     WHERE chain_id = $1 AND sender = $2 AND nonce >= $3
       AND kept_at > clock_timestamp() - make_interval(secs => $4) ORDER BY nonce, kept_at DESC`,
    [...wallet, next, NODE_LAG_SECONDS],
  )
  for (const transaction of rows.map(toTransaction)) {
    if (transaction.nonce !== next) break
    const reception = await broadcast(transaction)
    if (reception.is === 'unknown') throw new Error('the node gave no answer')
    if (reception.is === 'refused' && !reception.numberUsed) break
    next++
  }
  return next
}

/** Sends a call, unless its payment is under way: then that is sent once more, after a crash. */
async function sendOnce(
  pool: Pool,
  wallet: WalletKey,
  { wire, payments }: QueuedCall,
  first: number,
) {
  const keep = ({ hash, nonce, raw }: SignedTransaction): Promise<boolean> =>
    pool
      .query(
        `WITH sent AS (
           INSERT INTO hub.sent_transaction (chain_id, sender, hash, nonce, raw)
           VALUES ($1, $2, $3, $4, $5) RETURNING hash)
         INSERT INTO hub.sent_payment (payment, hash) SELECT unnest($6::bytea[]), hash FROM sent`,
        [...wallet, hash, nonce, hexToBytes(raw), payments],
      )
      .then(() => true, rethrowUnlessPending)
  const drop = ({ hash }: SignedTransaction) =>
    pool.query('DELETE FROM hub.sent_transaction WHERE hash = $1', [hash])
  const placed = await broadcastWithFreeNonce(wire, first, keep, drop)
  if (placed) return placed
  const [payment, other] = payments
  if (other) throw new Error(PAYMENT_PENDING)
  const sent = payment && (await findPending(pool, payment))
  if (!sent) throw new Error('the payment was under way, and has ended now')
  await wire.broadcast(sent)
  return { sent, taken: false }
}

async function findPending(pool: Pool, payment: Buffer): Promise<SignedTransaction | undefined> {
  const { rows } = await pool.query<TransactionRow>(
    `SELECT ${TRANSACTION_COLUMNS} FROM hub.sent_payment JOIN hub.sent_transaction USING (hash)
     WHERE payment = $1`,
    [payment],
  )
  return rows[0] && toTransaction(rows[0])
}

/** False: one of the payments is in another transaction. */
function rethrowUnlessPending(error: unknown): false {
  if (error instanceof DatabaseError && error.constraint === 'sent_payment_pkey') return false
  throw error
}

const TRANSACTION_COLUMNS = 'nonce, hash, raw'

interface TransactionRow {
  readonly nonce: number
  readonly hash: Hex
  readonly raw: Buffer
}

const toTransaction = ({ nonce, hash, raw }: TransactionRow): SignedTransaction => ({
  nonce,
  hash,
  raw: `0x${raw.toString('hex')}`,
})

const hexToBytes = (hex: Hex): Buffer => Buffer.from(hex.slice(2), 'hex')

const sha256 = (payment: string): Buffer => createHash('sha256').update(payment).digest()
