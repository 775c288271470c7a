import { elapsedMs } from '../../clock.ts'
import type { Hex } from '../asset.ts'

/** A signed transaction. Sent twice, it is still one. */
export interface Signed {
  readonly nonce: number
  readonly hash: Hex
  readonly raw: Hex
}

/**
 * What became of a broadcast. `unknown`: the node gave no answer, and may have taken it.
 * `numberUsed`: refused since another transaction has the number, or this one is in a block.
 */
export type Reception =
  | { readonly is: 'taken' | 'unknown' }
  | { readonly is: 'refused'; readonly numberUsed: boolean; readonly error: Error }

/** One call on its way, and the node that takes it. */
export interface Wire {
  /** How many transactions of the key the node knows, those that wait included. */
  readonly count: () => Promise<number>
  readonly sign: (nonce: number) => Promise<Signed>
  readonly broadcast: (transaction: Signed) => Promise<Reception>
}

/** The transactions of one key on their way to the chain: the only one who gives out numbers. */
export interface Outbox {
  /**
   * Signs a call with the next number and sends it, alone among all senders of the key. A payment
   * that is under way is not sent again. A node that does not answer is no error.
   * @returns the transaction that is on its way now
   * @throws Error when nothing was sent: the number stays free
   */
  send(wire: Wire, payment?: string): Promise<Signed>
  /** The transaction of a payment whose fate nobody has seen yet. */
  underWay(payment: string): Promise<Signed | undefined>
  /** Its receipt was seen. */
  ended(hash: Hex): Promise<void>
}

/** Somebody without our outbox may have used the number: then the next one. */
const TRIES = 3

/**
 * Sends with the first number from `first` on that is free.
 * @param keep called before a transaction leaves, so that none is forgotten
 * @param drop called for one that the node refused
 */
export async function place(
  { sign, broadcast }: Wire,
  first: number,
  keep: (transaction: Signed) => Promise<unknown>,
  drop: (transaction: Signed) => Promise<unknown>,
): Promise<Signed> {
  for (let nonce = first; ; nonce++) {
    const transaction = await sign(nonce)
    await keep(transaction)
    const reception = await broadcast(transaction)
    if (reception.is !== 'refused') return transaction
    await drop(transaction)
    if (!reception.numberUsed || nonce - first + 1 === TRIES) throw reception.error
  }
}

/** A queue behind a node that does not answer fails as a whole, not one after the other. */
const WAIT_MS = 15_000

/** Runs one piece of work after the other. What has waited for 15 s throws instead. */
export function inTurn(): <T>(work: () => Promise<T>) => Promise<T> {
  let tail: Promise<unknown> = Promise.resolve()
  return (work) => {
    const asked = elapsedMs()
    const turn = tail
    const run = (async () => {
      await turn
      if (elapsedMs() - asked > WAIT_MS) throw new Error('too many transactions wait for the node')
      return work()
    })()
    tail = run.catch(() => {})
    return run
  }
}

/** Nodes behind one address may lag; after this long without a transaction they have caught up. */
const REMEMBER_MS = 30_000

/** For a key that only this process sends with, and that may forget: benchmarks and tests. */
export function memoryOutbox(): Outbox {
  const turn = inTurn()
  const payments = new Map<string, Signed>()
  let last = { nonce: -1, at: 0 }
  return {
    send: (wire, payment = '') =>
      turn(async () => {
        const known = payments.get(payment)
        if (known) return known
        const counted = await wire.count()
        const fresh = elapsedMs() - last.at < REMEMBER_MS
        const first = fresh ? Math.max(counted, last.nonce + 1) : counted
        const keep = async (): Promise<void> => {}
        const sent = await place(wire, first, keep, keep)
        last = { nonce: sent.nonce, at: elapsedMs() }
        if (payment) payments.set(payment, sent)
        return sent
      }),
    underWay: async (payment) => payments.get(payment),
    async ended(hash) {
      for (const [payment, sent] of payments) if (sent.hash === hash) payments.delete(payment)
    },
  }
}
