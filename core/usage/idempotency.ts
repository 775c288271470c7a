import type { Pool } from 'pg'
import { UNHURRIED } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { instantOf } from '../ids.ts'
import type { Account } from '../ledger/events.ts'
import { claimKey } from '../ledger/idempotency.ts'
import type { AccountRef } from '../ledger/ledger.ts'
import { untilAnswered } from '../ledger/retry.ts'
import type { KeptAnswer, KeptAnswers } from './kept-answers.ts'

/** A request under a caller's own key. */
export interface Keyed {
  readonly owner: AccountRef
  readonly key: string
  /** All that was asked, in one fixed writing. */
  readonly inputs: string
  /** Id of this attempt. */
  readonly call: string
  /** Accounts that may have held money for an attempt that was begun then. */
  readonly payersAt: (begun: Date) => readonly Account[]
  /** How long this attempt takes at most, with whatever a crash leaves behind. */
  readonly seconds: number
}

/** What is to be done: the work, or nothing, since there is an answer. */
export interface Turn {
  readonly id: string
  readonly kept?: KeptAnswer | undefined
  /** Whether an earlier attempt failed, or died: what has paid for it pays for this one. */
  readonly again?: boolean
}

/**
 * One charge for each key of a caller, whatever is repeated and whatever crashes
 * (draft-ietf-httpapi-idempotency-key-header-07). The key is never forgotten; the answer is after
 * a day, and is then told as gone, never made again. What is noted here counts only with the hold
 * or the charge that follows it, which waits for the disk: the notes need not. Where the database
 * dies between the two and the hold comes after, the key is left: it says who had the first turn.
 */
export class Idempotency {
  readonly #pool: Pool
  readonly #answers: KeptAnswers

  constructor(pool: Pool, answers: KeptAnswers) {
    this.#pool = pool
    this.#answers = answers
  }

  /**
   * @throws Fault `idempotency_key_reused` for other inputs, `idempotency_in_progress` while an
   *   attempt is under way, `answer_expired` when the answer is no longer kept
   */
  async begin(keyed: Keyed): Promise<Turn> {
    const { owner, key, inputs, call, payersAt, seconds } = keyed
    const claimed = await claimKey(this.#pool, owner, `call:${key}`, inputs, call)
    if (!claimed) throw new Fault('idempotency_key_reused')
    const { id } = claimed
    const isFirst = await untilAnswered(() => this.#insert(id, seconds))
    const { attempt, done, busy } = isFirst
      ? { attempt: id, done: false, busy: true }
      : await this.#read(id)
    if (attempt === call) return { id }
    if (done || (!busy && (await this.#wasCharged(attempt, payersAt(instantOf(attempt)))))) {
      const kept = await this.#answers.find(attempt)
      if (!kept) throw new Fault('answer_expired', undefined, { extras: { call_id: attempt } })
      return { id, kept }
    }
    if (!busy && (await this.#takeOver(id, attempt, call, seconds))) return { id, again: true }
    throw new Fault('idempotency_in_progress', undefined, { extras: { call_id: attempt } })
  }

  /**
   * Keeps the answer of an attempt. Before the charge, so that whoever is charged can have it;
   * where no charge follows, the next attempt has an answer of its own.
   */
  keep(call: string, answer: KeptAnswer): Promise<void> {
    return this.#answers.keepUnhurried(call, answer)
  }

  /** The attempt is over: answered for good, or free to be tried again. */
  async end({ id }: Turn, call: string, done: boolean): Promise<void> {
    await this.#pool.query(
      `UPDATE hub.idempotent_call SET done = $3, busy_until = now() FROM ${UNHURRIED}
       WHERE id = $1 AND call = $2 AND NOT done`,
      [id, call, done],
    )
  }

  /** The first attempt: what has no note is at work, or was when its note was lost. */
  async #insert(id: string, seconds: number): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `INSERT INTO hub.idempotent_call (id, call, busy_until)
       SELECT $1, $1, now() + make_interval(secs => $2) FROM ${UNHURRIED}
       ON CONFLICT DO NOTHING`,
      [id, seconds],
    )
    return rowCount === 1
  }

  async #read(id: string) {
    const { rows } = await this.#pool.query<{ attempt: string; done: boolean; busy: boolean }>(
      `SELECT call AS attempt, done, busy_until > now() AS busy
       FROM hub.idempotent_call WHERE id = $1`,
      [id],
    )
    return rows[0]!
  }

  /**
   * Whether an attempt whose process died was charged. A payment that came, and whose work is not
   * done, pays for the next attempt.
   * @throws Fault `idempotency_in_progress` while its hold is open, or its payment may still come
   */
  async #wasCharged(call: string, payers: readonly Account[]): Promise<boolean> {
    const { rows } = await this.#pool.query<{ open: boolean | null; charged: boolean | null }>(
      `SELECT bool_or(open) AS open, bool_or(charged) AS charged FROM (
         SELECT bool_and(phase = 1), bool_or(kind = 2) FROM ledger.journal
         WHERE owner IN (SELECT a.id FROM ledger.account a WHERE a.code = ANY ($1)) AND id = $2
         UNION ALL
         SELECT state IN ('claimed', 'pending'), state IN ('settled', 'confirmed')
           AND (delivered_at IS NOT NULL
             OR EXISTS (SELECT FROM hub.kept_answer k WHERE k.id = c.id))
         FROM hub.payment_claim c WHERE call = $2
       ) AS ways (open, charged)`,
      [payers, call],
    )
    const { open, charged } = rows[0]!
    if (open) throw new Fault('idempotency_in_progress')
    return charged ?? false
  }

  /** Payments go over to the new attempt with the turn. */
  async #takeOver(id: string, from: string, call: string, seconds: number): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `WITH taken AS (
         UPDATE hub.idempotent_call SET call = $3, busy_until = now() + make_interval(secs => $4)
         WHERE id = $1 AND call = $2 AND NOT done AND busy_until <= now() RETURNING id
       ), moved AS (
         UPDATE hub.payment_claim SET call = $3 FROM taken WHERE call = $2)
       SELECT FROM taken`,
      [id, from, call, seconds],
    )
    return rowCount === 1
  }
}
