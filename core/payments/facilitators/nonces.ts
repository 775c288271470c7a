import { elapsedMs } from '../../clock.ts'

/** Gives out the transaction numbers of one key, one at a time. */
export interface Nonces {
  /**
   * Runs `send` with the next number, alone among all senders of the key. `count` asks the node
   * how many it knows. `send` answers the number that it used in the end; throwing, it used none.
   */
  next(count: () => Promise<number>, send: (nonce: number) => Promise<number>): Promise<void>
}

/** Nodes behind one address may lag; after this long without a transaction they have caught up. */
const REMEMBER_MS = 30_000
/** A queue behind a node that does not answer fails as a whole, not one after the other. */
const WAIT_MS = 15_000

/** For a key that only this process sends with. @throws Error after 15 s of waiting. */
export function memoryNonces(): Nonces {
  let tail: Promise<unknown> = Promise.resolve()
  let last = { nonce: -1, at: 0 }
  return {
    next(count, send) {
      const asked = elapsedMs()
      const turn = tail
      const run = (async () => {
        await turn
        if (elapsedMs() - asked > WAIT_MS)
          throw new Error('too many transactions wait for the node')
        const counted = await count()
        const fresh = elapsedMs() - last.at < REMEMBER_MS
        const nonce = await send(fresh ? Math.max(counted, last.nonce + 1) : counted)
        last = { nonce, at: elapsedMs() }
      })()
      tail = run.catch(() => {})
      return run
    },
  }
}
