import type { ClientBase, Pool } from 'pg'
import type { Account } from './events.ts'
import { type AccountRef, type Entry } from './ledger.ts'
import { untilAnswered } from './retry.ts'

const REPLAYED = 2
const OTHER_INPUTS = 5

/** The id that a caller's key stands for, and whether it was there before. */
export interface ClaimedKey {
  readonly id: string
  readonly replayed: boolean
}

/**
 * Gives what a caller asked under a key of its own an id: a new one the first time, the same one
 * ever after. With that id everything that follows happens once, whoever repeats it and after any
 * crash.
 * @param inputs all that was asked, in one fixed writing; its hash is kept for ever
 * @param id the id to give, UUID version 7
 * @returns undefined when the key was used for something else
 */
export async function claimKey(
  pool: Pool | ClientBase,
  owner: AccountRef,
  key: string,
  inputs: string,
  id: Entry['id'],
): Promise<ClaimedKey | undefined> {
  const { rows } = await untilAnswered(() =>
    pool.query<{ id: string; outcome: number }>('SELECT * FROM ledger.claim_key($1, $2, $3, $4)', [
      owner.id,
      key,
      inputs,
      id,
    ]),
  )
  const [{ id: known, outcome }] = rows as [{ id: string; outcome: number }]
  return outcome === OTHER_INPUTS ? undefined : { id: known, replayed: outcome === REPLAYED }
}

/** Whether an entry of one step, all but those of calls, stands in the journal. */
export async function isBooked(pool: Pool, owner: Account, id: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    `SELECT FROM ledger.journal j JOIN ledger.account a ON a.id = j.owner
     WHERE a.code = $1 AND j.id = $2 AND j.phase = 0`,
    [owner, id],
  )
  return rowCount === 1
}
