import type { Pool } from 'pg'
import { ASYNC_COMMIT } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import { instantOf } from '../ids.ts'
import type { Account } from '../ledger/events.ts'
import { claimKey } from '../ledger/idempotency.ts'
import type { AccountRef } from '../ledger/ledger.ts'
import { retryWhileUnavailable } from '../ledger/retry.ts'
import type { StoredResponse, StoredResponses } from './stored-responses.ts'

/** A request under a caller's own key. */
export interface IdempotentRequest {
  readonly owner: AccountRef
  readonly key: string
  /** All that was asked, in one fixed writing. */
  readonly inputs: string
  /** Id of this attempt. */
  readonly call: string
  /** Accounts that may have held money for an attempt that was begun then. */
  readonly payersSince: (begun: Date) => readonly Account[]
  /** How long this attempt takes at most, with whatever a crash leaves behind. */
  readonly leaseSeconds: number
}

/** What is to be done: the work, or nothing, since there is an answer. */
export interface IdempotentAttempt {
  readonly id: string
  readonly response?: StoredResponse | undefined
  /** Whether an earlier attempt failed, or died: what has paid for it pays for this one. */
  readonly isRetry?: boolean
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
  readonly #responses: StoredResponses

  constructor(pool: Pool, answers: StoredResponses) {
    this.#pool = pool
    this.#responses = answers
  }

  /**
   * @throws Fault `idempotency_key_reused` for other inputs, `idempotency_in_progress` while an
   *   attempt is under way, `answer_expired` when the answer is no longer kept
   */
  async begin(keyed: IdempotentRequest): Promise<IdempotentAttempt> {
    const { owner, key, inputs, call, payersSince: payersAt, leaseSeconds: seconds } = keyed
    const claimed = await claimKey(this.#pool, owner, `call:${key}`, inputs, call)
    if (!claimed) throw new Fault('idempotency_key_reused')
    const { id } = claimed
    const isFirst = await retryWhileUnavailable(() => this.#insert(id, seconds))
    const { attempt, done, busy } = isFirst
      ? { attempt: id, done: false, busy: true }
      : await this.#read(id)
    if (attempt === call) return { id }
    if (done || (!busy && (await this.#wasCharged(attempt, payersAt(instantOf(attempt)))))) {
      const kept = await this.#responses.find(attempt)
      if (!kept) throw new Fault('answer_expired', undefined, { extras: { call_id: attempt } })
      return { id, response: kept }
    }
    if (!busy && (await this.#takeOver(id, attempt, call, seconds))) return { id, isRetry: true }
    throw new Fault('idempotency_in_progress', undefined, { extras: { call_id: attempt } })
  }

  /**
   * Keeps the answer of an attempt. Before the charge, so that whoever is charged can have it;
   * where no charge follows, the next attempt has an answer of its own.
   */
  storeResponse(call: string, answer: StoredResponse): Promise<void> {
    return this.#responses.storeAsync(call, answer)
  }

  /** The attempt is over: answered for good, or free to be tried again. */
  async finish({ id }: IdempotentAttempt, call: string, done: boolean): Promise<void> {
    await this.#pool.query(
      `UPDATE hub.idempotent_call SET done = $3, busy_until = now() FROM ${ASYNC_COMMIT}
       WHERE id = $1 AND call = $2 AND NOT done`,
      [id, call, done],
    )
  }

  /** The first attempt: what has no note is at work, or was when its note was lost. */
  async #insert(id: string, seconds: number): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `INSERT INTO hub.idempotent_call (id, call, busy_until)
       SELECT $1, $1, now() + make_interval(secs => $2) FROM ${ASYNC_COMMIT}
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
