import { elapsedMs } from '../../clock.ts'
import type { Hex } from '../chain/asset.ts'

/** A signed transaction. Sent twice, it is still one. */
export interface SignedTransaction {
  readonly nonce: number
  readonly hash: Hex
  readonly raw: Hex
}

/**
 * What became of a broadcast. `unknown`: the node gave no answer, and may have taken it.
 * `numberUsed`: refused since another transaction has the number, or this one is in a block.
 */
export type BroadcastResult =
  | { readonly is: 'taken' | 'unknown' }
  | { readonly is: 'refused'; readonly numberUsed: boolean; readonly error: Error }

/** One call on its way, and the node that takes it. */
export interface OutboxCall {
  /** How many transactions of the key the node knows, those that wait included. */
  readonly countTransactions: () => Promise<number>
  readonly sign: (nonce: number) => Promise<SignedTransaction>
  readonly broadcast: (transaction: SignedTransaction) => Promise<BroadcastResult>
}

/** The transactions of one key on their way to the chain: the only one who gives out numbers. */
export interface Outbox {
  /**
   * Signs a call with the next number and sends it, alone among all senders of the key. A payment
   * that is under way is not sent again. A node that does not answer is no error.
   * @param payments those that the call settles
   * @returns the transaction that is on its way now
   * @throws Error when nothing was sent: the number stays free. So does a call that settles several
   *   payments one of which is under way: each has to be sent alone
   */
  send(wire: OutboxCall, payments?: readonly string[]): Promise<SignedTransaction>
  /** The transaction of a payment whose fate nobody has seen yet. */
  findPending(payment: string): Promise<SignedTransaction | undefined>
  /** Its receipt was seen. */
  markMined(hash: Hex): Promise<void>
}

/** Somebody without our outbox may have used the number: then the next one. */
const NONCE_ATTEMPTS_MAX = 3

/** What has left, and whether the node said that it took it. */
export interface PlacedTransaction {
  readonly sent: SignedTransaction
  readonly taken: boolean
}

/**
 * Sends with the first number from `first` on that is free.
 * @param keep called before a transaction leaves; false: it must not
 * @param drop called for one that the node refused
 * @returns undefined when nothing was sent, since `keep` said so
 */
export async function broadcastWithFreeNonce(
  { sign, broadcast }: OutboxCall,
  first: number,
  keep: (transaction: SignedTransaction) => Promise<boolean>,
  drop: (transaction: SignedTransaction) => Promise<unknown>,
): Promise<PlacedTransaction | undefined> {
  for (let nonce = first; ; nonce++) {
    const sent = await sign(nonce)
    if (!(await keep(sent))) return undefined
    const reception = await broadcast(sent)
    if (reception.is !== 'refused') return { sent, taken: reception.is === 'taken' }
    await drop(sent)
    if (!reception.numberUsed || nonce - first + 1 === NONCE_ATTEMPTS_MAX) throw reception.error
  }
}

/** A queue behind a node that does not answer fails as a whole, not one after the other. */
const QUEUE_TIMEOUT_MS = 15_000

/** @throws Error for what was asked too long ago */
export function assertNotTimedOut(askedMs: number): void {
  if (elapsedMs() - askedMs > QUEUE_TIMEOUT_MS)
    throw new Error('too many transactions wait for the node')
}

/** Why several payments are not sent together. */
export const PAYMENT_PENDING = 'one of the payments is under way already'

/** Nodes behind one address may lag; after this long without a transaction they have caught up. */
const NODE_LAG_MS = 30_000

/** For a key that only this process sends with, and that may forget: benchmarks and tests. */
export function createMemoryOutbox(): Outbox {
  let tail: Promise<unknown> = Promise.resolve()
  const payments = new Map<string, SignedTransaction>()
  let last = { nonce: -1, at: 0 }
  const send = async (wire: OutboxCall, settled: readonly string[]): Promise<SignedTransaction> => {
    const known = settled.map((payment) => payments.get(payment)).find((each) => each)
    if (known && settled.length > 1) throw new Error(PAYMENT_PENDING)
    if (known) return known
    const counted = await wire.countTransactions()
    const fresh = elapsedMs() - last.at < NODE_LAG_MS
    const first = fresh ? Math.max(counted, last.nonce + 1) : counted
    const always = async (): Promise<boolean> => true
    const { sent } = (await broadcastWithFreeNonce(wire, first, always, always))!
    last = { nonce: sent.nonce, at: elapsedMs() }
    for (const payment of settled) payments.set(payment, sent)
    return sent
  }
  return {
    send(wire, settled = []) {
      const asked = elapsedMs()
      const run = tail.then(() => {
        assertNotTimedOut(asked)
        return send(wire, settled)
      })
      tail = run.catch(() => {})
      return run
    },
    findPending: async (payment) => payments.get(payment),
    async markMined(hash) {
      for (const [payment, sent] of payments) if (sent.hash === hash) payments.delete(payment)
    },
  }
}
