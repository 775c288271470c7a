import type { Pool } from 'pg'
import type { ShardAccount } from '../../../core/ledger/account-balances.ts'
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

/** Steps of a call in the journal; `held_at` is null if the account holds nothing for it. */
interface CallSteps {
  readonly held_at: Date | null
  readonly asset: number | null
  readonly reserved: bigint | null
  readonly expires_at: Date | null
  readonly kind: number | null
  readonly taken: bigint | null
  readonly endpoint: number | null
  readonly refunded: bigint
}

/** Row of `FIND_RECORD`; all columns of the record are null if there is none. */
type CallQueryRow = { readonly [K in keyof RecordRow]: RecordRow[K] | null } & {
  readonly id: string
  /** True if the key, or a wallet or key that it sees, made the call. */
  readonly is_own: boolean
  readonly answer_id: string | null
  readonly payment: PaymentRow | null
}

/** Selects the steps of a call; always returns one row. */
const FIND_STEPS = `SELECT max(j.at) FILTER (WHERE j.phase = 1) AS held_at,
    max(j.asset) FILTER (WHERE j.phase = 1) AS asset,
    max(j.amount) FILTER (WHERE j.phase = 1) AS reserved,
    max(j.expires_at) FILTER (WHERE j.phase = 1) AS expires_at,
    max(j.endpoint) FILTER (WHERE j.phase = 1) AS endpoint,
    max(j.kind) FILTER (WHERE j.phase = 2) AS kind,
    max(j.amount) FILTER (WHERE j.phase = 2) AS taken,
    coalesce(sum((SELECT sum(u.amount) FROM unnest(j.accounts, j.amounts) u(account, amount)
      WHERE u.account = $2)) FILTER (WHERE j.phase IN (0, 3)), 0)::bigint AS refunded
  FROM ledger.journal j WHERE j.shard = $1 AND j.owner = $2 AND j.id = $3`

/** Selects the record of a call of any key; always returns one row. */
const FIND_RECORD = `SELECT q.id,
    coalesce(c.key_id = $2 OR c.key_id = ANY ($3::text[])
      OR c.key_id IS NULL AND c.principal = 'x402:' || $4::text, false) AS is_own,
    CASE WHEN c.source = 'x402' THEN c.entry ELSE q.id END AS answer_id,
    (SELECT json_build_object('url', p.url, 'state', p.state, 'pay_to', p.payee,
        'amount', p.amount::text, 'nonce', p.nonce, 'transaction', p.transaction,
        'status', p.status, 'reason', p.reason, 'valid_before', p.valid_before)
      FROM hub.payment_intent p WHERE p.call = q.id) AS payment,
    ${RECORD_COLUMNS}
  FROM (SELECT $1::uuid AS id) q
  LEFT JOIN hub.call c ON c.id = q.id
  LEFT JOIN hub.endpoint e ON e.id = c.endpoint`

const FIND_ENDPOINT = 'SELECT e.service, e.method, e.path FROM hub.endpoint e WHERE e.id = $1'

/** Accounts of free calls of a principal. */
const FIND_FREE_ACCOUNTS = `SELECT a.id, coalesce(a.home, 0) AS shard FROM ledger.account a
  WHERE a.code COLLATE "C" >= 'liabilities:free-calls:' || $1 || ':'
    AND a.code COLLATE "C" < 'liabilities:free-calls:' || $1 || ';'`

/** Ledger's number of the asset FREECALL. */
const FREE_CALL = 3

/** Key and the account of the credits that it spends. */
export interface CallKey {
  readonly keyId: string
  readonly credits: ShardAccount
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
  const { keyId, credits, visibleKeys, wallet } = key
  const values = [id, keyId, visibleKeys ?? null, wallet ?? null]
  const [steps, { rows }] = await Promise.all([
    findSteps(pool, credits, id),
    pool.query<CallQueryRow>(FIND_RECORD, values),
  ])
  const row = rows[0]!
  const known = await combine(pool, key, row, steps)
  if (known) return known
  const free = await findFreeAccount(pool, keyId, id)
  return free && combine(pool, key, row, await findSteps(pool, free, id))
}

/** Finds the account of the free call that the principal of a key used or holds for a call. */
async function findFreeAccount(
  pool: Pool,
  keyId: string,
  call: string,
): Promise<ShardAccount | undefined> {
  const { rows: keys } = await pool.query<{ principal: string }>(
    'SELECT principal FROM hub.api_key WHERE id = $1',
    [keyId],
  )
  if (!keys[0]) return undefined
  const { rows: accounts } = await pool.query<ShardAccount>(FIND_FREE_ACCOUNTS, [keys[0].principal])
  const [first] = accounts // all of them are on the shard of the principal
  if (first === undefined) return undefined
  const { rows } = await pool.query<{ id: bigint }>(
    `SELECT j.owner AS id FROM ledger.journal j
     WHERE j.shard = $1 AND j.owner = ANY ($2) AND j.id = $3 AND j.phase = 1`,
    [first.shard, accounts.map(({ id }) => id), call],
  )
  return rows[0] && { id: rows[0].id, shard: first.shard }
}

async function findSteps(pool: Pool, account: ShardAccount, id: string): Promise<CallSteps> {
  const { rows } = await pool.query<CallSteps>(FIND_STEPS, [account.shard, account.id, id])
  return rows[0]!
}

/** Combines record and steps of a call; undefined if the key may not see it. */
async function combine(
  pool: Pool,
  { visibleKeys }: CallKey,
  row: CallQueryRow,
  steps: CallSteps,
): Promise<CallRow | undefined> {
  const isHeld = steps.held_at !== null
  if (row.call === null) {
    if (!isHeld) return undefined
    const { rows } = await pool.query<EndpointRow>(FIND_ENDPOINT, [steps.endpoint])
    return toCallRow({ ...row, ...rows[0] }, steps)
  }
  const seesPaid = visibleKeys === undefined || row.key_id === null
  return row.is_own || (isHeld && seesPaid) ? toCallRow(row, steps) : undefined
}

type EndpointRow = Pick<RecordRow, 'service' | 'method' | 'path'>

function toCallRow(row: CallQueryRow, steps: CallSteps): CallRow {
  const { service, method, path, at, call } = row
  const isFree = steps.asset === FREE_CALL
  return {
    id: row.id,
    at: (steps.held_at ?? at)!,
    endpoint: service === null ? null : `${service} ${method} ${path}`,
    name: endpointName(row as RecordRow),
    record: call === null ? undefined : recordOf(row as RecordRow),
    hold:
      steps.held_at === null
        ? undefined
        : {
            isFree,
            reserved: isFree ? 0n : steps.reserved!,
            charged: isFree ? 0n : (steps.taken ?? 0n),
            kind: steps.kind,
            expiresAt: steps.expires_at!,
          },
    refunded: steps.refunded,
    answerId: row.answer_id,
    payment: row.payment,
  }
}

/** Returns true if the charge can no longer change. Only final calls have a receipt. */
export const isFinal = ({ record, hold }: CallRow): boolean =>
  record !== undefined && record.outcome !== 'unresolved' && hold?.kind !== null
