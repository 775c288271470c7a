import type { Pool } from 'pg'
import type { CallRecord } from './calls.ts'

/** What a record is read from, of `hub.call c` and its endpoint `e`. */
export const RECORD_COLUMNS = `c.id AS call, c.at, c.request_id, c.principal, c.key_id, e.service, e.method,
  e.path, c.endpoint, c.price_version, c.source, c.charged, c.outcome, c.status AS call_status,
  c.latency_ms, c.reason AS call_reason, c.request_hash, c.response_hash, c.entry`

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
})

/** `POST /echo/say`, as receipts name it. */
export const endpointName = ({
  service,
  method,
  path,
}: Pick<RecordRow, 'service' | 'method' | 'path'>) => `${method} /${service}${path}`

/** A call that was recorded, with the name of its endpoint. */
export interface RecordedCall {
  readonly record: CallRecord
  readonly name: string
}

/** Undefined: there was none, or it is not written yet. */
export async function findRecordedCall(
  pool: Pool,
  call: string,
): Promise<RecordedCall | undefined> {
  const { rows } = await pool.query<RecordRow>(
    `SELECT ${RECORD_COLUMNS} FROM hub.call c JOIN hub.endpoint e ON e.id = c.endpoint WHERE c.id = $1`,
    [call],
  )
  return rows[0] && { record: recordOf(rows[0]), name: endpointName(rows[0]) }
}
