import { elapsedMs } from '../../clock.ts'
import type { Hex } from '../chain/asset.ts'

/** A signed transaction. Sending it twice has no further effect. */
export interface SignedTransaction {
  readonly nonce: number
  readonly hash: Hex
  readonly raw: Hex
}

/** Result of a broadcast; `unknown` without a response, `isNonceUsed` if refused for its nonce. */
export type BroadcastResult =
  | { readonly is: 'accepted' | 'unknown' }
  | { readonly is: 'refused'; readonly isNonceUsed: boolean; readonly error: Error }

/** One contract call to send, with access to the node. */
export interface OutboxCall {
  /** Number of the key's transactions that the node knows, including pending ones. */
  readonly countTransactions: () => Promise<number>
  readonly sign: (nonce: number) => Promise<SignedTransaction>
  readonly broadcast: (transaction: SignedTransaction) => Promise<BroadcastResult>
}

/** Transactions of one key on their way to the chain; the only source of their nonces. */
export interface Outbox {
  /**
   * Signs a call with the next nonce and sends it, exclusively among all senders of the key. Does
   * not send a pending payment again. An unresponsive node is not an error.
   * @param payments the payments that the call settles
   * @returns the transaction that is now pending
   * @throws Error if nothing was sent, which leaves the nonce free; also for a call with several
   *   payments of which one is pending, because each must then be sent alone
   */
  send(call: OutboxCall, payments?: readonly string[]): Promise<SignedTransaction>
  /** Finds the transaction of a payment whose receipt has not been seen. */
  findPending(payment: string): Promise<SignedTransaction | undefined>
  /**
   * Removes a transaction whose receipt was seen, before the next `findPending`. If that fails, its
   * payments are only asked after once more.
   */
  markMined(hash: Hex): void
}

/** A sender outside this outbox may have used a nonce; the next one is tried. */
const NONCE_ATTEMPTS_MAX = 3

/**
 * Sends with the first free nonce from `first` on.
 * @param store called before a transaction is sent; false prevents sending
 * @param drop called for a transaction that the node refused
 * @returns undefined if `store` prevented sending
 */
export async function broadcastWithFreeNonce(
  { sign, broadcast }: OutboxCall,
  first: number,
  store: (transaction: SignedTransaction) => Promise<boolean>,
  drop: (transaction: SignedTransaction) => Promise<unknown>,
): Promise<{ readonly sent: SignedTransaction; readonly isAccepted: boolean } | undefined> {
  for (let nonce = first; ; nonce++) {
    const sent = await sign(nonce)
    if (!(await store(sent))) return undefined
    const result = await broadcast(sent)
    if (result.is !== 'refused') return { sent, isAccepted: result.is === 'accepted' }
    await drop(sent)
    if (!result.isNonceUsed || nonce - first + 1 === NONCE_ATTEMPTS_MAX) throw result.error
  }
}

/** Queue limit: behind an unresponsive node the queue fails as a whole, not one by one. */
const QUEUE_TIMEOUT_MS = 15_000

/** @throws Error for a call queued too long ago */
export function assertNotTimedOut(queuedAtMs: number): void {
  if (elapsedMs() - queuedAtMs > QUEUE_TIMEOUT_MS)
    throw new Error('too many transactions wait for the node')
}

/** Error of a batch with a pending payment. */
export const PAYMENT_PENDING = 'one of the payments is already pending'

/** Nodes behind one address may lag; a transaction unknown after this time is lost. */
export const NODE_LAG_SECONDS = 30

/**
 * Sends transactions again that the node does not count, in case it lost them.
 * @param counted number of the key's transactions that the node knows
 * @param sent recent transactions, by nonce, from `counted` on
 * @returns the first free nonce, which is that of a gap if there is one
 * @throws Error without node
 */
export async function resend(
  counted: number,
  sent: readonly SignedTransaction[],
  broadcast: OutboxCall['broadcast'],
): Promise<number> {
  let next = counted
  for (const transaction of sent) {
    if (transaction.nonce !== next) break
    const result = await broadcast(transaction)
    if (result.is === 'unknown') throw new Error('the node did not respond')
    if (result.is === 'refused' && !result.isNonceUsed) break
    next++
  }
  return next
}

/** Outbox in memory, for benchmarks and tests: one process, no recovery after a crash. */
export function memoryOutbox(): Outbox {
  let tail: Promise<unknown> = Promise.resolve()
  const payments = new Map<string, SignedTransaction>()
  let recent: { readonly sent: SignedTransaction; readonly at: number }[] = []
  const send = async (call: OutboxCall, settled: readonly string[]): Promise<SignedTransaction> => {
    const pending = settled.map((payment) => payments.get(payment)).find((each) => each)
    if (pending && settled.length > 1) throw new Error(PAYMENT_PENDING)
    if (pending) return pending
    const counted = await call.countTransactions()
    const oldest = elapsedMs() - NODE_LAG_SECONDS * 1_000
    recent = recent.filter(({ at }) => at > oldest)
    const unknown = recent.map(({ sent }) => sent).filter(({ nonce }) => nonce >= counted)
    const first = await resend(counted, unknown, call.broadcast)
    const always = async (): Promise<boolean> => true
    const { sent } = (await broadcastWithFreeNonce(call, first, always, always))!
    recent = [...recent.filter((each) => each.sent.nonce < sent.nonce), { sent, at: elapsedMs() }]
    for (const payment of settled) payments.set(payment, sent)
    return sent
  }
  return {
    send(call, settled = []) {
      const queuedAtMs = elapsedMs()
      const run = tail.then(() => {
        assertNotTimedOut(queuedAtMs)
        return send(call, settled)
      })
      tail = run.catch(() => {})
      return run
    },
    findPending: async (payment) => payments.get(payment),
    markMined(hash) {
      for (const [payment, sent] of payments) if (sent.hash === hash) payments.delete(payment)
    },
  }
}
