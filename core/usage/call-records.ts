import type { Pool } from 'pg'
import { type KeyManager, MANAGED_KEYS } from '../identity/sub-keys.ts'
import type { Usage } from '../plugin/metered.ts'

/** Record of one call. Explains journal entries; the journal stays the source of truth. */
export interface CallRecord {
  /** Call id, UUID version 7. */
  readonly id: string
  readonly at: Date
  readonly requestId: string
  readonly principal: string
  /** Null if paid by x402 without a key. */
  readonly keyId: string | null
  readonly service: string
  readonly endpoint: number
  readonly priceVersion: number
  readonly source: 'free' | 'credits' | 'x402' | 'none'
  /** Microdollars. */
  readonly charged: bigint
  readonly outcome: 'delivered' | 'failed' | 'unresolved' | 'taken'
  readonly status: number
  readonly latencyMs: number
  readonly reason: string | null
  /** SHA-256: see `hashRequest` in receipts.ts. */
  readonly requestHash: Buffer | null
  readonly responseHash: Buffer | null
  /** Id of the journal entries; null if the call was not charged through the ledger. */
  readonly entry: string | null
  /** Paid usage of a call with a metered price; null for other calls. */
  readonly usage: Usage | null
  /** Host of the agent that signed the request; null if none was verified. */
  readonly agent: string | null
}

/**
 * Days for which the record of a charged call is never detached, so that a missing one is lost.
 * Later it may be detached: see `call-partitions.ts`.
 */
export const RECORD_DAYS_MIN = 365

/** Columns of `RecordRow`, from `hub.call c` and its endpoint `e`. */
export const RECORD_COLUMNS = `c.id AS call, c.at, c.request_id, c.principal, c.key_id, e.service,
  e.method, e.path, c.endpoint, c.price_version, c.source, c.charged, c.outcome,
  c.status AS call_status,
  c.latency_ms, c.reason AS call_reason, c.request_hash, c.response_hash, c.entry, c.unit,
  c.quantity, c.unit_amount, c.unit_per, c.agent`

export interface RecordRow {
  readonly call: string
  readonly at: Date
  readonly request_id: string
  readonly principal: string
  readonly key_id: string | null
  readonly service: string
  readonly method: string
  readonly path: string
  readonly endpoint: number
  readonly price_version: number
  readonly source: CallRecord['source']
  readonly charged: bigint
  readonly outcome: CallRecord['outcome']
  readonly call_status: number
  readonly latency_ms: number
  readonly call_reason: string | null
  readonly request_hash: Buffer | null
  readonly response_hash: Buffer | null
  readonly entry: string | null
  readonly unit: string | null
  readonly quantity: bigint | null
  readonly unit_amount: bigint | null
  readonly unit_per: bigint | null
  readonly agent: string | null
}

export const recordOf = (row: RecordRow): CallRecord => ({
  id: row.call,
  at: row.at,
  requestId: row.request_id,
  principal: row.principal,
  keyId: row.key_id,
  service: row.service,
  endpoint: row.endpoint,
  priceVersion: row.price_version,
  source: row.source,
  charged: row.charged,
  outcome: row.outcome,
  status: row.call_status,
  latencyMs: row.latency_ms,
  reason: row.call_reason,
  requestHash: row.request_hash,
  responseHash: row.response_hash,
  entry: row.entry,
  usage: usageOf(row),
  agent: row.agent,
})

export type UsageColumns = Pick<RecordRow, 'unit' | 'quantity' | 'unit_amount' | 'unit_per'>

export const usageOf = ({ unit, quantity, ...price }: UsageColumns): Usage | null =>
  unit === null
    ? null
    : { unit, quantity: quantity!, amount: price.unit_amount!, per: price.unit_per! }

/** Formats an endpoint as receipts name it: `POST /echo/say`. */
export const endpointName = ({
  service,
  method,
  path,
}: Pick<RecordRow, 'service' | 'method' | 'path'>) => `${method} /${service}${path}`

/** Call record with the name of its endpoint. */
export interface RecordedCall {
  readonly record: CallRecord
  readonly name: string
}

/** Finds a call record; undefined if there is none or it is not written yet. */
export async function findRecordedCall(
  pool: Pool,
  call: string,
): Promise<RecordedCall | undefined> {
  const { rows } = await pool.query<RecordRow>(
    `SELECT ${RECORD_COLUMNS} FROM hub.call c JOIN hub.endpoint e ON e.id = c.endpoint
     WHERE c.id = $1`,
    [call],
  )
  return rows[0] && { record: recordOf(rows[0]), name: endpointName(rows[0]) }
}

/** Key of a call, and the account of the credits that it spends. */
export interface CallKey {
  readonly keyId: string
  readonly credits: bigint
}

/** Finds the managed key that made a call, or else the main key that paid it. */
export async function findCallKey(
  pool: Pool,
  manager: KeyManager,
  call: string,
): Promise<CallKey | undefined> {
  const { rows } = await pool.query<CallKey>(
    `${MANAGED_KEYS} SELECT f.id AS "keyId", f.credits FROM family f
     WHERE f.credits IS NOT NULL AND (f.id = (SELECT c.key_id FROM hub.call c WHERE c.id = $2)
       OR f.parent IS NULL AND f.credits IN (SELECT o.owner FROM ledger.owners_of($2) o))
     ORDER BY f.id = (SELECT c.key_id FROM hub.call c WHERE c.id = $2) DESC NULLS LAST LIMIT 1`,
    [manager, call],
  )
  return rows[0]
}
