import { DatabaseError, type Pool, type PoolClient } from 'pg'
import { elapsedMs } from '../../clock.ts'
import { sha256 } from '../../crypto/sha256.ts'
import { inTransaction } from '../../db/transaction.ts'
import { PendingTasks } from '../../runtime/pending-tasks.ts'
import { type Hex, USDC_BASE } from '../chain/asset.ts'
import {
  assertNotTimedOut,
  broadcastWithFreeNonce,
  NODE_LAG_SECONDS,
  type Outbox,
  type OutboxCall,
  PAYMENT_PENDING,
  resend,
  type SignedTransaction,
} from './outbox.ts'

/** A key on one chain. */
export interface KeyOnChain {
  readonly chainId: number
  readonly address: Hex
}

/** A call waiting to be sent. */
interface QueuedCall {
  readonly call: OutboxCall
  /** SHA-256 of each payment it settles. */
  readonly payments: readonly Buffer[]
  readonly queuedAtMs: number
  readonly resolve: (sent: SignedTransaction) => void
  readonly reject: (error: unknown) => void
}

/** Calls sent per lock of the wallet, before other processes get their turn. */
const BATCH_SIZE = 16

/**
 * Outbox in PostgreSQL, for a key shared by several processes and transactions that must survive
 * a crash. Commits a transaction before sending it. After a crash the next sender sends it again
 * with its own nonce, so no nonce is used twice or skipped.
 * @param pool at least two connections; no other work may hold one while it waits for this
 */
export function createStoredOutbox(pool: Pool, key: KeyOnChain): Outbox {
  const waiting: QueuedCall[] = []
  let isSending = false
  const marking = new PendingTasks()
  const work = async (): Promise<void> => {
    if (isSending) return
    isSending = true
    while (waiting.length > 0) await sendBatch(pool, key, waiting.splice(0, BATCH_SIZE))
    isSending = false
  }
  return {
    send: (call, payments = []) =>
      new Promise((resolve, reject) => {
        const hashes = payments.map(sha256)
        waiting.push({ call, payments: hashes, queuedAtMs: elapsedMs(), resolve, reject })
        void work()
      }),
    async findPending(payment) {
      await marking.idle()
      return findPending(pool, sha256(payment))
    },
    markMined(hash) {
      void marking.add(pool.query('DELETE FROM hub.sent_payment WHERE hash = $1', [hash]))
    },
  }
}

/** Sends queued calls in order while the wallet is locked. Never throws. */
async function sendBatch(pool: Pool, key: KeyOnChain, batch: readonly QueuedCall[]): Promise<void> {
  const wallet = [key.chainId, key.address.toLowerCase()] as const
  try {
    const send = async (client: PoolClient): Promise<void> => {
      await lockWallet(pool, client, wallet)
      let next: number | undefined // unknown until the node is queried
      for (const queued of batch) {
        try {
          assertNotTimedOut(queued.queuedAtMs)
          next ??= await firstFreeNonce(client, queued.call, wallet)
          const placed = await sendOnce(pool, wallet, queued, next)
          next = placed.isAccepted ? placed.sent.nonce + 1 : undefined
          queued.resolve(placed.sent)
        } catch (error) {
          next = undefined
          queued.reject(error)
        }
      }
    }
    await inTransaction(pool, send, LOCK_ONLY)
  } catch (error) {
    for (const queued of batch) queued.reject(error) // sent ones are already resolved
  }
}

/** The transaction writes nothing but the lock: each transaction is stored by one of its own. */
const LOCK_ONLY = 'SET LOCAL synchronous_commit = off'

type Wallet = readonly [chainId: number, address: string]

async function lockWallet(pool: Pool, client: PoolClient, wallet: Wallet): Promise<void> {
  const lock = { ...LOCK, values: [...wallet] }
  const { rowCount } = await client.query(lock)
  if (rowCount === 1) return
  await pool.query(
    'INSERT INTO hub.wallet_nonce (chain_id, address) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [...wallet],
  )
  await client.query(lock)
}

const LOCK = {
  name: 'outbox.lock-wallet',
  text: 'SELECT FROM hub.wallet_nonce WHERE chain_id = $1 AND address = $2 FOR UPDATE',
}

/** Returns the first free nonce, resending unseen transactions. @throws Error without node */
async function firstFreeNonce(
  client: PoolClient,
  { countTransactions: count, broadcast }: OutboxCall,
  wallet: Wallet,
): Promise<number> {
  const counted = await count()
  const { rows } = await client.query<TransactionRow>(
    `SELECT DISTINCT ON (nonce) ${TRANSACTION_COLUMNS} FROM hub.sent_transaction
     WHERE chain_id = $1 AND sender = $2 AND nonce >= $3
       AND kept_at > clock_timestamp() - make_interval(secs => $4) ORDER BY nonce, kept_at DESC`,
    [...wallet, counted, NODE_LAG_SECONDS],
  )
  return resend(counted, rows.map(toTransaction), broadcast)
}

/** Sends a call; if its payment is already pending, sends that transaction again instead. */
async function sendOnce(pool: Pool, wallet: Wallet, { call, payments }: QueuedCall, first: number) {
  const store = ({ hash, nonce, raw }: SignedTransaction): Promise<boolean> =>
    pool
      .query(
        `WITH sent AS (
           INSERT INTO hub.sent_transaction (chain_id, sender, hash, nonce, raw)
           VALUES ($1, $2, $3, $4, $5) RETURNING hash)
         INSERT INTO hub.sent_payment (payment, hash) SELECT unnest($6::bytea[]), hash FROM sent`,
        [...wallet, hash, nonce, Buffer.from(raw.slice(2), 'hex'), payments],
      )
      .then(() => true, rethrowUnlessPending)
  const drop = ({ hash }: SignedTransaction) =>
    pool.query('DELETE FROM hub.sent_transaction WHERE hash = $1', [hash])
  const placed = await broadcastWithFreeNonce(call, first, store, drop)
  if (placed) return placed
  const [payment, other] = payments
  if (other) throw new Error(PAYMENT_PENDING)
  const sent = payment && (await findPending(pool, payment))
  if (!sent) throw new Error('the payment was pending and has just ended')
  await call.broadcast(sent)
  return { sent, isAccepted: false }
}

/**
 * Deletes transactions on networks other than Base a day after they were stored: their payments
 * have expired. Those on Base are deleted when their gas is posted.
 */
export const pruneTransactions = (pool: Pool): Promise<unknown> =>
  pool.query(
    `DELETE FROM hub.sent_transaction
     WHERE chain_id <> $1 AND kept_at < now() - interval '1 day'`,
    [USDC_BASE.chainId],
  )

async function findPending(pool: Pool, payment: Buffer): Promise<SignedTransaction | undefined> {
  const { rows } = await pool.query<TransactionRow>(
    `SELECT ${TRANSACTION_COLUMNS} FROM hub.sent_payment JOIN hub.sent_transaction USING (hash)
     WHERE payment = $1`,
    [payment],
  )
  return rows[0] && toTransaction(rows[0])
}

/** Returns false if one of the payments is in another transaction; rethrows other errors. */
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
