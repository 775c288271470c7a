import type { ClientBase, Pool } from 'pg'
import type { Hex } from '../payments/chain/asset.ts'
import type { ExceptionKind, Finding, WalletName } from './types.ts'

/** A difference between chain and ledger, open until it is resolved. */
export interface ReconciliationException {
  readonly id: bigint
  readonly wallet: WalletName
  readonly kind: ExceptionKind
  /** Chain minus ledger, in microdollars. */
  readonly amount: bigint
  readonly reason: string
  readonly tx: Hex | null
  readonly block: bigint | null
  /** Event and journal id of the entry concerned. */
  readonly event: string | null
  readonly entry: string | null
  readonly foundAt: Date
  readonly seenAt: Date
  readonly resolvedAt: Date | null
  /** `vanished`: a later run no longer found the difference. */
  readonly resolution: 'booked' | 'explained' | 'vanished' | null
  readonly author: string | null
  readonly explanation: string | null
  /** Id of the entry that was posted to resolve it. */
  readonly answer: string | null
}

const SELECT = `
  SELECT x.id, x.wallet, x.kind, x.amount, x.reason, x.tx, x.block, e.event, e.entry,
    x.found_at AS "foundAt", x.seen_at AS "seenAt", x.resolved_at AS "resolvedAt", x.resolution,
    x.author, x.explanation, x.answer_id AS answer
  FROM hub.reconciliation_exception x LEFT JOIN hub.wallet_entry e ON e.id = x.entry`

/**
 * Largest unexplained deposit, in microdollars, that is resolved together with others: anybody can
 * send many small ones to a wallet.
 */
const SMALL_DEPOSIT_MAX = 1_000_000n

/** SQL condition: exception `x` is about a small deposit. */
export const IS_SMALL_DEPOSIT_SQL = `(x.kind = 'unknown_deposit' AND
  x.amount <= ${SMALL_DEPOSIT_MAX})`

export interface ExceptionFilter {
  /** True to include resolved exceptions. @defaultValue false */
  readonly resolved?: boolean
  readonly wallet?: WalletName | undefined
  /** True for small deposits only, false for all others. @defaultValue both */
  readonly small?: boolean | undefined
  /** @defaultValue all */
  readonly limit?: number | undefined
  /** Id of the last exception of the previous page. */
  readonly after?: bigint | undefined
}

/** Reads exceptions, open ones by default, the oldest first. */
export async function listExceptions(
  pool: Pool | ClientBase,
  { resolved = false, wallet, small, limit, after }: ExceptionFilter = {},
): Promise<readonly ReconciliationException[]> {
  const { rows } = await pool.query<ReconciliationException>(
    `${SELECT} WHERE ($1 OR x.resolved_at IS NULL) AND ($2::text IS NULL OR x.wallet = $2)
       AND x.id > coalesce($3, 0) AND ($5::boolean IS NULL OR ${IS_SMALL_DEPOSIT_SQL} = $5)
     ORDER BY x.id LIMIT $4`,
    [resolved, wallet ?? null, after ?? null, limit ?? null, small ?? null],
  )
  return rows
}

export async function findException(
  client: Pool | ClientBase,
  id: bigint,
): Promise<ReconciliationException | undefined> {
  const { rows } = await client.query<ReconciliationException>(`${SELECT} WHERE x.id = $1`, [id])
  return rows[0]
}

/** Entry that resolves an exception. */
interface Answer {
  readonly id: bigint
  readonly shard: number
  readonly owner: bigint
  readonly entry: string
  readonly phase: number
}

/** Closes exceptions whose entry was posted by a process that ended before closing them. */
export async function closeResolved(client: ClientBase, wallet: WalletName): Promise<void> {
  const { rows: answered } = await client.query<Answer>(
    `SELECT x.id, e.shard, e.owner, e.entry, e.phase FROM hub.reconciliation_exception x
     JOIN hub.wallet_entry e ON e.answers = x.id WHERE x.wallet = $1 AND x.resolved_at IS NULL`,
    [wallet],
  )
  for (const { id, shard, owner, entry, phase } of answered) {
    const { rows } = await client.query<{ author: string | null; reason: string | null }>(
      `SELECT left(j.meta ->> 'author', 200) AS author, j.meta ->> 'reason' AS reason
       FROM ledger.journal j
       WHERE j.shard = $1 AND j.owner = $2 AND j.id = $3 AND j.phase = $4`,
      [shard, owner, entry, phase],
    )
    if (!rows[0]) continue
    await client.query(
      `UPDATE hub.reconciliation_exception
       SET resolved_at = clock_timestamp(), resolution = 'booked', author = $2, explanation = $3,
         answer = $4, answer_id = $5
       WHERE id = $1 AND resolved_at IS NULL`,
      [id, rows[0].author, rows[0].reason, owner, entry],
    )
  }
}

/** Opens and closes exceptions by the findings of a run. @returns how many of each */
export async function storeFindings(
  client: ClientBase,
  wallet: WalletName,
  block: bigint,
  findings: readonly Finding[],
): Promise<{ readonly opened: number; readonly closed: number }> {
  const column = <T>(of: (finding: Finding) => T): T[] => findings.map(of)
  const { rows } = await client.query<{ opened: boolean }>(
    `INSERT INTO hub.reconciliation_exception AS x
       (wallet, kind, fact, amount, reason, tx, block, transfer, entry)
     SELECT $1, u.* FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[],
       $7::bigint[], $8::bigint[], $9::bigint[]) u
     ON CONFLICT (fact) WHERE resolved_at IS NULL DO UPDATE SET seen_at = clock_timestamp()
     RETURNING xmax = 0 AS opened`,
    [
      wallet,
      column(({ kind }) => kind),
      column(({ fact }) => fact),
      column(({ amount }) => amount),
      column(({ reason }) => reason),
      column(({ tx }) => tx ?? null),
      column((finding) => finding.block ?? null),
      column(({ transfer }) => transfer ?? null),
      column(({ entry }) => entry ?? null),
    ],
  )
  const { rowCount } = await client.query(CLOSE, [wallet, column(({ fact }) => fact), block])
  return { opened: rows.filter(({ opened }) => opened).length, closed: rowCount ?? 0 }
}

const CLOSE = `
  UPDATE hub.reconciliation_exception x
  SET resolved_at = clock_timestamp(), resolution = 'vanished',
    explanation = coalesce(
      (SELECT 'The entry ' || e.event || ' ' || e.entry || ' was posted for the transfer.'
       FROM hub.transfer t JOIN hub.wallet_entry e ON e.id = t.entry
       WHERE t.id = x.transfer AND t.gone_at IS NULL),
      (SELECT 'A reorganization removed the transfer.'
       FROM hub.transfer t WHERE t.id = x.transfer AND t.gone_at IS NOT NULL),
      (SELECT 'The transfer of the entry is in block ' || t.block || '.'
       FROM hub.transfer t WHERE t.entry = x.entry AND t.gone_at IS NULL),
      'No longer found as of block ' || $3::bigint || '.')
  WHERE x.wallet = $1 AND x.resolved_at IS NULL AND x.fact <> ALL ($2::text[])`
