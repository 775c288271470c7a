import type { Pool } from 'pg'
import { ASYNC_COMMIT } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import type { KeyCredits } from '../identity/main-keys.ts'
import { instantOf } from '../ids.ts'
import type { Account } from '../ledger/events.ts'
import { withRetry } from '../ledger/retry.ts'
import { claimRequestName } from './request-names.ts'
import type { StoredResponse, StoredResponses } from './stored-responses.ts'

/** Request with an idempotency key of the caller. */
export interface IdempotentRequest {
  readonly caller: KeyCredits
  readonly key: string
  /** Canonical text of all inputs. */
  readonly inputs: string
  /** Id of this attempt. */
  readonly call: string
  /** Accounts that may hold money for an attempt that started at `start`. */
  readonly payersSince: (start: Date) => readonly Account[]
  /** Maximum duration of this attempt, including what a crash leaves behind. */
  readonly leaseSeconds: number
}

/** Attempt at a request: with a stored response there is nothing left to do. */
export interface IdempotentAttempt {
  readonly id: string
  readonly response?: StoredResponse | undefined
  /** True if an earlier attempt failed or died; its payment pays for this one. */
  readonly isRetry?: boolean
}

/**
 * Charges each idempotency key of an API key at most once, across retries and crashes
 * (draft-ietf-httpapi-idempotency-key-header-07). Keys are stored forever, responses for a day;
 * after that the request fails and is not executed again. Rows written here matter only together
 * with the hold or charge that follows, so they commit asynchronously: if the database crashes in
 * between and the hold comes after, the claimed key still identifies the first attempt.
 */
export class Idempotency {
  readonly #pool: Pool
  readonly #responses: StoredResponses

  constructor(pool: Pool, responses: StoredResponses) {
    this.#pool = pool
    this.#responses = responses
  }

  /**
   * @throws Fault `idempotency_key_reused` for other inputs, `idempotency_in_progress` while an
   *   attempt is pending, `answer_expired` if the stored response is gone
   */
  async begin(keyed: IdempotentRequest): Promise<IdempotentAttempt> {
    const { caller, key, inputs, call, payersSince: payersAt, leaseSeconds: seconds } = keyed
    const id = await claimRequestName(this.#pool, caller, `call:${key}`, inputs, call)
    if (id === undefined) throw new Fault('idempotency_key_reused')
    const isFirst = await withRetry(() => this.#insert(id, seconds))
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

  /** Stores the response of an attempt, before the charge: a charged caller can get it. */
  storeResponse(call: string, response: StoredResponse): Promise<void> {
    return this.#responses.storeAsync(call, response)
  }

  /** Ends an attempt. @param done false: the request may be attempted again */
  async finish({ id }: IdempotentAttempt, call: string, done: boolean): Promise<void> {
    await this.#pool.query(
      `UPDATE hub.idempotent_call SET done = $3, busy_until = now() FROM ${ASYNC_COMMIT}
       WHERE id = $1 AND call = $2 AND NOT done`,
      [id, call, done],
    )
  }

  /** Ends a charged attempt whose charge was given back. The request may be attempted again. */
  async reopen(keyed: IdempotentRequest, attempt: string): Promise<void> {
    const { caller, key, inputs, call } = keyed
    const id = await claimRequestName(this.#pool, caller, `call:${key}`, inputs, call)
    await this.#pool.query(
      `UPDATE hub.idempotent_call SET done = false, busy_until = now() WHERE id = $1 AND call = $2`,
      [id, attempt],
    )
  }

  /** Inserts the first attempt. A missing row means that it is pending, or its row was lost. */
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
   * Returns true if an attempt whose process died was charged. A payment received without delivery
   * pays for the next attempt.
   * @throws Fault `idempotency_in_progress` while its hold is open or its payment may still arrive
   */
  async #wasCharged(call: string, payers: readonly Account[]): Promise<boolean> {
    const { rows } = await this.#pool.query<{ open: boolean | null; charged: boolean | null }>(
      `SELECT bool_or(open) AS open, bool_or(charged) AS charged FROM (
         SELECT bool_and(phase = 1), bool_or(kind = 2) FROM ledger.journal
         WHERE owner IN (SELECT a.id FROM ledger.account a WHERE a.code = ANY ($1)) AND id = $2
         UNION ALL
         SELECT state IN ('claimed', 'pending'), state IN ('settled', 'confirmed')
           AND NOT deposited AND (delivered_at IS NOT NULL
             OR EXISTS (SELECT FROM hub.kept_answer k WHERE k.id = c.id))
         FROM hub.payment_claim c WHERE call = $2
       ) AS funds (open, charged)`,
      [payers, call],
    )
    const { open, charged } = rows[0]!
    if (open) throw new Fault('idempotency_in_progress')
    return charged ?? false
  }

  /** Replaces a dead attempt and moves its payments to the new one. */
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
