import type { Pool } from 'pg'
import type { ProcessLease } from '../db/process-lease.ts'
import { ASYNC_COMMIT, inTransaction } from '../db/transaction.ts'
import { Fault } from '../errors.ts'
import type { KeyCredits } from '../identity/main-keys.ts'
import { instantOf } from '../ids.ts'
import type { Account } from '../ledger/events.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { BEGIN_FOR_MS, limitWait, withRetry } from '../ledger/retry.ts'
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
  /** Network, token, payer and nonce of the payment that the request carries. */
  readonly payment: readonly string[] | undefined
  /** Maximum duration of this attempt, including what a crash leaves behind. */
  readonly leaseSeconds: number
}

/** Attempt at a request: with a stored response there is nothing left to do. */
export interface IdempotentAttempt {
  readonly id: string
  readonly response?: StoredResponse | undefined
  /** True if an earlier attempt failed or died; its payment pays for this one. */
  readonly isRetry?: boolean
  /** Id of the attempt to continue: its payment to an external seller may not have been sent. */
  readonly resumed?: string
}

interface IdempotencyDeps {
  readonly pool: Pool
  readonly ledger: Ledger
  readonly lease: Pick<ProcessLease, 'id' | 'release'>
}

/**
 * Charges each idempotency key of an API key at most once, across retries and crashes
 * (draft-ietf-httpapi-idempotency-key-header-07). Keys are stored forever, responses for a day;
 * after that the request fails and is not executed again. Rows written here matter only together
 * with the hold or charge that follows, so they commit asynchronously: if the database crashes in
 * between and the hold comes after, the claimed key still identifies the first attempt.
 */
export class Idempotency {
  readonly #deps: IdempotencyDeps
  readonly #responses: StoredResponses

  constructor(deps: IdempotencyDeps, responses: StoredResponses) {
    this.#deps = deps
    this.#responses = responses
  }

  /**
   * Begins an attempt, or finds the response of an earlier one. An attempt that is over, or whose
   * process is gone, is taken over, and its hold released; but one that may have paid an external
   * seller is continued with the same hold and payment while that is valid.
   * @throws Fault `idempotency_key_reused` for other inputs, `idempotency_in_progress` while an
   *   attempt or its payment is pending, `answer_expired` if the stored response is gone
   */
  async begin(keyed: IdempotentRequest): Promise<IdempotentAttempt> {
    const { caller, key, inputs, call, leaseSeconds: seconds } = keyed
    const name = claimRequestName(this.#deps.pool, caller, `call:${key}`, inputs, call)
    const id = await limitWait(name)
    if (id === undefined) throw new Fault('idempotency_key_reused')
    if (id === call) {
      await this.#tryBegin(id, call, () => withRetry(() => this.#insert(id, seconds), BEGIN_FOR_MS))
      return { id }
    }
    const { attempt, done, busy } = await limitWait(this.#read(id))
    if (busy && !done) throw inProgress(attempt)
    const paid = done ? attempt : await limitWait(this.#findPaid(this.#deps.pool, id, attempt))
    if (paid !== undefined) return await this.#replay(id, paid)
    const response = await limitWait(this.#findCharged(attempt, caller))
    if (response) return { id, response }
    const isResumed = await this.#tryBegin(id, attempt, () => this.#resume(id, attempt, seconds))
    if (isResumed) return { id, resumed: attempt }
    return this.#tryBegin(id, call, async () => {
      const meanwhile = await this.#takeOver(id, attempt, keyed)
      if (meanwhile !== undefined) return this.#replay(id, meanwhile)
      const charged = await this.#releaseHolds(id, keyed.payersSince)
      if (charged === undefined) return { id, isRetry: true }
      await this.#restoreCharged(id, charged, call)
      return this.#replay(id, charged)
    })
  }

  /** Begins an attempt; ends it if that fails or takes long, because it may have begun anyway. */
  async #tryBegin<T>(id: string, call: string, begin: () => Promise<T>): Promise<T> {
    const beginning = begin()
    try {
      return await limitWait(beginning)
    } catch (error) {
      const finish = () => this.finish({ id }, call, false)
      await this.#deps.lease.release(() => beginning.then(finish, finish))
      throw error
    }
  }

  /** Ends an attempt of this process. @param done false: the request may be attempted again */
  async finish({ id }: IdempotentAttempt, call: string, done: boolean): Promise<void> {
    await this.#deps.pool.query(
      `UPDATE hub.idempotent_call SET done = $3, busy_until = now() FROM ${ASYNC_COMMIT}
       WHERE id = $1 AND call = $2 AND NOT done AND process = $4`,
      [id, call, done, this.#deps.lease.id],
    )
  }

  /** Ends a charged attempt that was refunded. The request may be attempted again. */
  async reopen(keyed: IdempotentRequest, attempt: string): Promise<void> {
    const { caller, key, inputs, call } = keyed
    const id = await claimRequestName(this.#deps.pool, caller, `call:${key}`, inputs, call)
    await this.#deps.pool.query(
      `UPDATE hub.idempotent_call SET done = false, busy_until = now() WHERE id = $1 AND call = $2`,
      [id, attempt],
    )
  }

  /** Inserts the first attempt, even if a retry has already noted it. */
  async #insert(id: string, seconds: number): Promise<void> {
    const { pool, lease } = this.#deps
    await pool.query(
      `INSERT INTO hub.idempotent_call AS i (id, call, process, busy_until)
       SELECT $1, $1, $3, now() + make_interval(secs => $2) FROM ${ASYNC_COMMIT}
       ON CONFLICT (id) DO UPDATE SET process = excluded.process, busy_until = excluded.busy_until
         WHERE i.call = i.id AND NOT i.done`,
      [id, seconds, lease.id],
    )
  }

  /** Reads the last attempt. Notes one whose row is missing: it is about to begin, or was lost. */
  async #read(id: string) {
    const { pool, lease } = this.#deps
    const { rows } = await pool.query<{ attempt: string; done: boolean; busy: boolean }>(
      `WITH missing AS (
         INSERT INTO hub.idempotent_call (id, call, busy_until)
         SELECT $1, $1, now() + make_interval(secs => ${BEGIN_SECONDS})
         WHERE NOT EXISTS (SELECT FROM hub.idempotent_call WHERE id = $1)
         ON CONFLICT (id) DO NOTHING RETURNING call, done, true AS busy)
       SELECT call AS attempt, done, busy FROM missing UNION ALL
       SELECT call, done, busy_until > now() AND hub.is_gone(process, $2) IS NOT TRUE
       FROM hub.idempotent_call WHERE id = $1`,
      [id, lease.id],
    )
    return rows[0] ?? { attempt: id, done: false, busy: true } // noted by another retry just now
  }

  /** @throws Fault `answer_expired` if the response is not stored any more */
  async #replay(id: string, attempt: string): Promise<IdempotentAttempt> {
    const response = await this.#responses.find(attempt)
    if (!response) throw new Fault('answer_expired', undefined, { extras: { call_id: attempt } })
    return { id, response }
  }

  /** Finds the attempt whose x402 payment has paid for a delivery: the last, or an earlier one. */
  async #findPaid(on: Pick<Pool, 'query'>, id: string, last: string): Promise<string | undefined> {
    const { rows } = await on.query<{ call: string }>(
      `SELECT call FROM hub.payment_claim c
       WHERE call IN (SELECT $2::uuid UNION SELECT call FROM hub.abandoned_attempt
           WHERE request = $1)
         AND state IN ('settled', 'confirmed') AND NOT deposited
         AND (delivered_at IS NOT NULL
           OR EXISTS (SELECT FROM hub.kept_answer k WHERE k.id = c.id)) LIMIT 1`,
      [id, last],
    )
    return rows[0]?.call
  }

  /** Finds the stored response of an attempt paid by credits that was not marked as charged. */
  async #findCharged(
    call: string,
    { credits: owner }: KeyCredits,
  ): Promise<StoredResponse | undefined> {
    const response = await this.#responses.find(call)
    if (!response) return undefined
    const state = await this.#deps.ledger.stateOf({ call, owner })
    return state === 'settled' ? response : undefined
  }

  /** Continues an attempt whose payment to a seller may not have been sent. */
  async #resume(id: string, attempt: string, seconds: number): Promise<boolean> {
    const { pool, lease } = this.#deps
    const { rowCount } = await pool.query(
      `UPDATE hub.idempotent_call i SET process = $4, busy_until = now() + make_interval(secs => $3)
       FROM hub.payment_intent p
       WHERE i.id = $1 AND i.call = $2 AND NOT i.done
         AND (i.busy_until <= now() OR hub.is_gone(i.process, $4))
         AND p.call = i.call AND p.state = 'signed'
         AND p.valid_before > now() + make_interval(secs => ${SEND_SECONDS})`,
      [id, attempt, seconds, lease.id],
    )
    return rowCount === 1
  }

  /**
   * Replaces an attempt that is over. The process of the old one may still be alive: from now on it
   * can neither charge nor pay a seller. An x402 payment that arrived pays for the new
   * attempt; one that was never sent is released, unless the request carries it again.
   * @returns the attempt that has delivered for a payment meanwhile: nothing was taken over
   * @throws Fault `idempotency_in_progress` if a payment from or to others may still arrive
   */
  #takeOver(id: string, from: string, { call, payment, leaseSeconds }: IdempotentRequest) {
    const { pool, lease } = this.#deps
    return inTransaction(pool, async (client) => {
      // From now on, the old attempt cannot end the work that its payment pays for.
      await client.query(
        `SELECT FROM hub.payment_claim WHERE call IN (SELECT $2::uuid
           UNION SELECT call FROM hub.abandoned_attempt WHERE request = $1) ORDER BY id FOR UPDATE`,
        [id, from],
      )
      const paid = await this.#findPaid(client, id, from)
      if (paid !== undefined) return paid
      const { rows: paying } = await client.query<{ open: boolean }>(
        'SELECT hub.lock_payment($1) AS open',
        [from],
      )
      if (paying[0]!.open) throw inProgress(from)
      const { rowCount } = await client.query(
        `WITH taken AS (
           UPDATE hub.idempotent_call SET call = $3, process = $5,
             busy_until = now() + make_interval(secs => $4)
           WHERE id = $1 AND call = $2 AND NOT done
             AND (busy_until <= now() OR hub.is_gone(process, $5)) RETURNING id)
         INSERT INTO hub.abandoned_attempt (call, request) SELECT $2, $1 FROM taken`,
        [id, from, call, leaseSeconds, lease.id],
      )
      if (rowCount === 0) throw inProgress(from)
      const { rows: claims } = await client.query<{ open: boolean }>(
        `UPDATE hub.payment_claim
         SET call = CASE WHEN state IN ('settled', 'confirmed') THEN $2 ELSE call END,
           state = CASE WHEN state = 'claimed' AND ${IS_ANOTHER_PAYMENT} AND NOT settling
             THEN 'released' ELSE state END
         WHERE call IN (SELECT call FROM hub.abandoned_attempt WHERE request = $1)
           AND state NOT IN ('released', 'failed')
         RETURNING state = 'pending' OR state = 'claimed' AND ${IS_ANOTHER_PAYMENT} AS open`,
        [id, call, payment ?? null],
      )
      if (claims.some(({ open }) => open)) throw inProgress(from)
      return undefined
    })
  }

  /**
   * Releases the holds of all attempts that were taken over. What they reserve from now on expires,
   * because it cannot be charged.
   * @returns the attempt that was charged before
   */
  async #releaseHolds(
    id: string,
    payersSince: IdempotentRequest['payersSince'],
  ): Promise<string | undefined> {
    const { pool, ledger } = this.#deps
    const { rows: attempts } = await pool.query<{ call: string }>(
      'SELECT call FROM hub.abandoned_attempt WHERE request = $1',
      [id],
    )
    const calls = attempts.map(({ call }) => call)
    const { rows: holds } = await pool.query<{ call: string; payer: Account }>(
      `SELECT j.id AS call, a.code AS payer
       FROM ledger.account a JOIN ledger.journal j ON j.owner = a.id
       WHERE a.code = ANY ($1) AND j.id = ANY ($2) AND j.phase = 1`,
      [calls.flatMap((call) => payersSince(instantOf(call))), calls],
    )
    for (const { call, payer } of holds) {
      const hold = { call, owner: await ledger.account(payer) }
      await ledger.release(hold)
      if ((await ledger.stateOf(hold)) === 'settled') return call
    }
    return undefined
  }

  /** Returns a request to an earlier attempt that turned out to be charged: it is done. */
  async #restoreCharged(id: string, attempt: string, call: string): Promise<void> {
    await this.#deps.pool.query(
      `UPDATE hub.idempotent_call SET call = $2, done = true, busy_until = now()
       WHERE id = $1 AND call = $3`,
      [id, attempt, call],
    )
  }
}

/** Condition: a claim is of another payment than that of the request. */
const IS_ANOTHER_PAYMENT = 'ARRAY[network, asset, payer, nonce] IS DISTINCT FROM $3::text[]'

/** Minimum remaining validity of a payment that is sent to a seller once more. */
const SEND_SECONDS = 10

/** Seconds in which a request that has its id begins its first attempt. */
const BEGIN_SECONDS = 5

const inProgress = (attempt: string): Fault =>
  new Fault('idempotency_in_progress', undefined, { extras: { call_id: attempt } })
