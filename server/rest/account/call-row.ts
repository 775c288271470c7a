import type { Pool } from 'pg'
import type { CallRecord } from '../../../core/usage/call-records.ts'
import {
  endpointName,
  RECORD_COLUMNS,
  type RecordRow,
  recordOf,
} from '../../../core/usage/call-records.ts'

/** One call, combined from its record and its hold in the journal. */
export interface CallRow {
  readonly id: string
  readonly at: Date
  /** Name in the history: `echo POST /say`. */
  readonly endpoint: string | null
  /** Name in receipts: `POST /echo/say`. */
  readonly name: string
  /** Undefined if it is not written yet, or if the process died before writing it. */
  readonly record: CallRecord | undefined
  /** Reserved credits of the caller, with the kind of the journal row that resolved the hold. */
  readonly hold:
    | {
        readonly reserved: bigint
        readonly charged: bigint
        readonly kind: number | null
        readonly expiresAt: Date
      }
    | undefined
  /** Microdollars refunded after the charge. */
  readonly refunded: bigint
  /** Id under which the response may be stored. */
  readonly answerId: string | null
  readonly payment: PaymentRow | null
}

/** JSON from the database; the amount is a decimal string. */
interface PaymentRow {
  readonly url: string
  readonly state: 'signed' | 'unresolved' | 'paid' | 'confirmed' | 'unused'
  readonly pay_to: string
  readonly amount: string
  readonly nonce: string
  readonly transaction: string | null
  readonly status: number | null
  readonly reason: string | null
  readonly valid_before: string
}

/** Row of `FIND_CALL`; all columns of the record are null if there is none. */
type CallQueryRow = { readonly [K in keyof RecordRow]: RecordRow[K] | null } & {
  readonly id: string
  readonly held_at: Date | null
  readonly reserved: bigint | null
  readonly expires_at: Date | null
  readonly kind: number | null
  readonly taken: bigint | null
  readonly refunded: bigint
  readonly answer_id: string | null
  readonly payment: PaymentRow | null
}

const FIND_CALL = `SELECT q.id, h.at AS held_at, h.amount AS reserved, h.expires_at,
    r.kind, r.amount AS taken,
    (SELECT coalesce(sum(x.amount), 0)::bigint FROM ledger.posting x WHERE x.id = q.id
      AND x.account_id = $1 AND x.owner = $1 AND x.phase IN (0, 3)) AS refunded,
    CASE WHEN c.source = 'x402' THEN c.entry ELSE q.id END AS answer_id,
    (SELECT json_build_object('url', p.url, 'state', p.state, 'pay_to', p.payee,
        'amount', p.amount::text, 'nonce', p.nonce, 'transaction', p.transaction,
        'status', p.status, 'reason', p.reason, 'valid_before', p.valid_before)
      FROM hub.payment_intent p WHERE p.call = q.id) AS payment,
    ${RECORD_COLUMNS}
  FROM (SELECT $2::uuid AS id) q
  LEFT JOIN ledger.journal h ON h.owner = $1 AND h.id = q.id AND h.phase = 1
  LEFT JOIN ledger.journal r ON r.owner = $1 AND r.id = q.id AND r.phase = 2
  LEFT JOIN hub.call c ON c.id = q.id
    AND (c.key_id = $3 OR c.key_id = ANY ($4::text[]) OR h.id IS NOT NULL AND $4 IS NULL)
  LEFT JOIN hub.endpoint e ON e.id = coalesce(h.endpoint, c.endpoint)
  WHERE c.id IS NOT NULL OR h.id IS NOT NULL
    AND ($4::text[] IS NULL OR NOT EXISTS (SELECT FROM hub.call o WHERE o.id = q.id))`

/** Key and the account of the credits that it spends. */
export interface CallKey {
  readonly keyId: string
  readonly credits: { readonly id: bigint }
  /** Set for a sub-key: the keys whose calls it may see. See `findVisibleKeys`. */
  readonly visibleKeys?: readonly string[] | undefined
}

/**
 * Finds a call that the key made or that its credits paid; for a sub-key, a call of its own. A call
 * that is not recorded yet is found by its id alone, which only its caller knows.
 */
export async function findCall(
  pool: Pool,
  { credits, keyId, visibleKeys }: CallKey,
  id: string,
): Promise<CallRow | undefined> {
  const { rows } = await pool.query<CallQueryRow>(FIND_CALL, [
    credits.id,
    id,
    keyId,
    visibleKeys ?? null,
  ])
  return rows[0] && toCallRow(rows[0])
}

function toCallRow(row: CallQueryRow): CallRow {
  const { service, method, path, at, call } = row
  return {
    id: row.id,
    at: (row.held_at ?? at)!,
    endpoint: service === null ? null : `${service} ${method} ${path}`,
    name: endpointName(row as RecordRow),
    record: call === null ? undefined : recordOf(row as RecordRow),
    hold:
      row.held_at === null
        ? undefined
        : {
            reserved: row.reserved!,
            charged: row.taken ?? 0n,
            kind: row.kind,
            expiresAt: row.expires_at!,
          },
    refunded: row.refunded,
    answerId: row.answer_id,
    payment: row.payment,
  }
}

/** Returns true if the charge can no longer change. Only final calls have a receipt. */
export const isFinal = ({ record, hold }: CallRow): boolean =>
  record !== undefined && record.outcome !== 'unresolved' && hold?.kind !== null
