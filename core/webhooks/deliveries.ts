import type { Pool } from 'pg'
import { type Clock, elapsedMs } from '../clock.ts'
import { EgressError } from '../egress/errors.ts'
import type { Egress } from '../egress/http.ts'
import type { Log } from '../log.ts'
import { logFailure } from '../outages.ts'
import { type DueDelivery, leaseDue } from './due-deliveries.ts'
import type { WebhookSigner } from './signer.ts'

export interface DeliveryDeps {
  readonly pool: Pool
  readonly egress: Egress
  readonly signer: WebhookSigner
  readonly clock: Clock
  readonly log: Log
}

/** Result of an attempt; `error` is a code, null on success. */
interface DeliveryOutcome {
  readonly status: number | null
  readonly error: string | null
  readonly durationMs: number
}

/** Limits of an attempt. The response body is irrelevant, so little of it is read. */
const TIMEOUTS = { headersMs: 10_000, bodyMs: 5_000, totalMs: 10_000 } as const
const RESPONSE_BYTES_MAX = 16_384
/** Duration of an attempt from which on its receiver does not count as quick. */
const SLOW_MS = 2_000
/** Seconds until the next attempt: 5, 20, 80 … up to six hours, ± 25 %. */
const BACKOFF_SECONDS = '(0.75 + random() / 2) * least(21600, 5 * 4 ^ least(d.attempts - 1, 8))'
/** Age of an event after which it is not retried. */
const RETRY_INTERVAL = `interval '1 day'`
/** Time without a success after which a webhook is disabled. */
const DISABLE_INTERVAL = `interval '3 days'`

/** Delivers events at least once; receivers recognize repetitions by `webhook-id`. */
export class Deliveries {
  readonly #deps: DeliveryDeps
  /** Attempts in flight, with their webhooks. */
  readonly #pending = new Map<Promise<void>, string>()

  constructor(deps: DeliveryDeps) {
    this.#deps = deps
  }

  /** Starts due attempts without waiting for them. @returns number of attempts */
  async start(): Promise<number> {
    const due = await leaseDue(this.#deps.pool, [...this.#pending.values()])
    for (const delivery of due) {
      const attempt = this.#deliver(delivery)
      this.#pending.set(attempt, delivery.webhook)
      void attempt.finally(() => this.#pending.delete(attempt))
    }
    return due.length
  }

  /** Waits until no attempt is pending. */
  async idle(): Promise<void> {
    await Promise.all(this.#pending.keys())
  }

  async #deliver(delivery: DueDelivery): Promise<void> {
    try {
      await recordOutcome(this.#deps.pool, delivery, await sendEvent(this.#deps, delivery))
    } catch (err) {
      const fields = { err, webhook: delivery.webhook, event: delivery.event }
      logFailure(this.#deps.log, 'error', fields, 'failed to attempt a webhook delivery')
    }
  }
}

async function sendEvent(
  { egress, signer, clock }: DeliveryDeps,
  due: DueDelivery,
): Promise<DeliveryOutcome> {
  const { webhook, event, type, data, at, version, keyVersion, previousKeyVersion } = due
  const body = JSON.stringify({ type, timestamp: at.toISOString(), data })
  const versions = [{ version, keyVersion }]
  if (previousKeyVersion !== null) {
    versions.push({ version: version - 1, keyVersion: previousKeyVersion })
  }
  const signed = await signer.headersOf(webhook, versions, event, clock.now(), body)
  const start = elapsedMs()
  const done = (status: number | null, error: string | null): DeliveryOutcome => ({
    status,
    error,
    durationMs: Math.round(elapsedMs() - start),
  })
  try {
    const { status } = await egress.request({
      url: due.url,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...signed },
      body,
      maxBytes: RESPONSE_BYTES_MAX,
      timeouts: TIMEOUTS,
    })
    return done(status, isSuccess(status) ? null : 'status')
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    const status = error.response?.status ?? null
    // A 2xx response counts as success even if its body is too long.
    const isDelivered = error.code === 'upstream_too_large' && status !== null && isSuccess(status)
    return done(status, isDelivered ? null : error.code)
  }
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300
const GONE = 410

/** Records the result of an attempt and updates or disables the webhook. */
async function recordOutcome(
  pool: Pool,
  { webhook, event }: DueDelivery,
  outcome: DeliveryOutcome,
): Promise<void> {
  const { status, error, durationMs } = outcome
  await pool.query(
    `WITH tried AS (
       UPDATE hub.webhook_delivery d SET tried_at = now(), status = $3::smallint, error = $4,
         duration_ms = $5, next_at = now() + make_interval(secs => ${BACKOFF_SECONDS}),
         state = CASE WHEN $4::text IS NULL THEN 'delivered'
           WHEN d.state <> 'pending' THEN d.state -- ended meanwhile
           WHEN $3::smallint = ${GONE} OR d.at < now() - ${RETRY_INTERVAL} THEN 'failed'
           ELSE 'pending' END
       WHERE d.webhook = $1 AND d.event = $2
     )
     UPDATE hub.webhook SET is_quick = $6,
       failing_since = CASE WHEN $4::text IS NOT NULL THEN coalesce(failing_since, now()) END
     WHERE id = $1 AND ($4::text IS NOT NULL OR failing_since IS NOT NULL OR is_quick <> $6)`,
    [webhook, event, status, error, durationMs, durationMs < SLOW_MS],
  )
  if (error === null) return
  await pool.query(
    `WITH ended AS (
       UPDATE hub.webhook SET disabled_at = now(), disabled_reason = $3
       WHERE id = $1 AND disabled_at IS NULL AND ($2 OR failing_since < now() - ${DISABLE_INTERVAL})
       RETURNING id
     )
     UPDATE hub.webhook_delivery d SET state = 'failed' FROM ended
     WHERE d.webhook = ended.id AND d.state = 'pending'`,
    [webhook, status === GONE, status === GONE ? 'gone' : 'failing'],
  )
}
