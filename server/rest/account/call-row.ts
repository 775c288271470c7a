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
  /** Hold of the caller, with the kind of the journal row that resolved it. */
  readonly hold:
    | {
        /** True if it holds a free call; its amounts are zero. */
        readonly isFree: boolean
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
  readonly asset: number | null
  readonly reserved: bigint | null
  readonly expires_at: Date | null
  readonly kind: number | null
  readonly taken: bigint | null
  readonly refunded: bigint
  readonly answer_id: string | null
  readonly payment: PaymentRow | null
}

const FIND_CALL = `SELECT q.id, h.at AS held_at, h.asset, h.amount AS reserved, h.expires_at,
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
    AND (c.key_id = $3 OR c.key_id = ANY ($4::text[])
      OR c.key_id IS NULL AND c.principal = 'x402:' || $5::text
      OR h.id IS NOT NULL AND ($4 IS NULL OR c.key_id IS NULL))
  LEFT JOIN hub.endpoint e ON e.id = coalesce(h.endpoint, c.endpoint)
  WHERE c.id IS NOT NULL OR h.id IS NOT NULL
    AND ($4::text[] IS NULL OR NOT EXISTS (SELECT FROM hub.call o
      WHERE o.id = q.id AND o.key_id IS NOT NULL))`

/** Account of the free call that the principal of a key used or holds for a call. */
const FIND_FREE_ACCOUNT = `SELECT a.id FROM hub.api_key k
  JOIN ledger.account a
    ON a.code COLLATE "C" >= 'liabilities:free-calls:' || k.principal || ':'
    AND a.code COLLATE "C" < 'liabilities:free-calls:' || k.principal || ';'
  JOIN ledger.journal j ON j.owner = a.id AND j.id = $2 AND j.phase = 1
  WHERE k.id = $1`

/** Ledger's number of the asset FREECALL. */
const FREE_CALL = 3

/** Key and the account of the credits that it spends. */
export interface CallKey {
  readonly keyId: string
  readonly credits: { readonly id: bigint }
  /** Wallet of a main key, whose calls without a key it sees. */
  readonly wallet?: string | null
  /** Set for a sub-key: the keys whose calls it may see. See `findVisibleKeys`. */
  readonly visibleKeys?: readonly string[] | undefined
}

/**
 * Finds a call that the key made or that its credits paid; for a sub-key, a call of its own. A call
 * that is not recorded yet is found by its id alone, which only its caller knows; so is a free call
 * that its process did not record, because the ledger knows only its principal.
 */
export async function findCall(pool: Pool, key: CallKey, id: string): Promise<CallRow | undefined> {
  const known = await findByAccount(pool, key, key.credits.id, id)
  if (known) return known
  const { rows } = await pool.query<{ id: bigint }>(FIND_FREE_ACCOUNT, [key.keyId, id])
  return rows[0] && findByAccount(pool, key, rows[0].id, id)
}

async function findByAccount(
  pool: Pool,
  { keyId, visibleKeys, wallet }: CallKey,
  account: bigint,
  id: string,
): Promise<CallRow | undefined> {
  const { rows } = await pool.query<CallQueryRow>(FIND_CALL, [
    account,
    id,
    keyId,
    visibleKeys ?? null,
    wallet ?? null,
  ])
  return rows[0] && toCallRow(rows[0])
}

function toCallRow(row: CallQueryRow): CallRow {
  const { service, method, path, at, call } = row
  const isFree = row.asset === FREE_CALL
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
            isFree,
            reserved: isFree ? 0n : row.reserved!,
            charged: isFree ? 0n : (row.taken ?? 0n),
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
