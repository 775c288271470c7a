import type { Pool } from 'pg'
import { COLUMNS, isoInstant, type JournalEntry, legsOf, parseEntry, valueAt } from '../entry.ts'
import type { Account, Asset, LedgerEvent } from '../events.ts'
import { copyLines } from './copy.ts'
import type { ExportPlan, Span } from './plan.ts'

/** An account as exports write it. */
export interface ExportedAccount {
  readonly id: string
  readonly code: Account
  readonly asset: Asset
  readonly decimals: number
}

/** One leg of an entry, in units of the account's asset, credit-positive. */
export interface ExportedPosting {
  readonly account: ExportedAccount
  readonly amount: bigint
}

export interface ExportedEntry {
  readonly row: JournalEntry
  readonly event: LedgerEvent['type']
  readonly postings: readonly ExportedPosting[]
  /** The seal of which it is the last entry. */
  readonly seal?: ExportedSeal | undefined
}

export interface ExportedSeal {
  readonly shard: number
  readonly seqFrom: bigint
  readonly seqTo: bigint
  readonly at: string
  readonly prev: string
  readonly hash: string
}

const ACCOUNTS_MAX = 50_000

/** Accounts and kinds by their ids. Both are never changed, so that what was read once holds. */
class Names {
  readonly #pool: Pool
  readonly #accounts = new Map<string, ExportedAccount>()
  readonly #events = new Map<number, LedgerEvent['type']>()

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Reads what is not known yet of the accounts that these entries touch. */
  async learn(entries: readonly JournalEntry[]): Promise<void> {
    if (this.#events.size === 0) {
      const { rows } = await this.#pool.query<{ id: number; event: LedgerEvent['type'] }>(
        'SELECT id, event FROM ledger.kind',
      )
      for (const { id, event } of rows) this.#events.set(id, event)
    }
    if (this.#accounts.size > ACCOUNTS_MAX) this.#accounts.clear()
    const missing = new Set<string>()
    for (const entry of entries) {
      for (const { account } of legsOf(entry)) {
        if (!this.#accounts.has(account)) missing.add(account)
      }
    }
    if (missing.size === 0) return
    const { rows } = await this.#pool.query<ExportedAccount>(
      `SELECT a.id::text AS id, a.code, s.code AS asset, s.decimals
       FROM ledger.account a JOIN ledger.asset s ON s.id = a.asset WHERE a.id = ANY ($1)`,
      [[...missing]],
    )
    for (const account of rows) this.#accounts.set(account.id, account)
  }

  entry(row: JournalEntry, seal: ExportedSeal | undefined): ExportedEntry {
    const postings = legsOf(row).map(({ account, amount }) => ({
      account: this.#accounts.get(account)!,
      amount,
    }))
    return { row, event: this.#events.get(row.kind)!, postings, seal }
  }
}

export interface ReadOptions {
  /** Goes on behind this entry. */
  readonly after?: { readonly shard: number; readonly seq: bigint } | undefined
  /** Whether seals are wanted too. */
  readonly seals?: boolean
}

/**
 * The entries of a plan in the order (shard, seq), in pages as they come from the database: a COPY
 * for each shard, read no faster than its reader asks for more.
 */
export async function* readEntries(
  pool: Pool,
  plan: ExportPlan,
  { after, seals = false }: ReadOptions = {},
): AsyncGenerator<readonly ExportedEntry[]> {
  const names = new Names(pool)
  for (const span of plan.spans) {
    if (after && span.shard < after.shard) continue
    const done = after?.shard === span.shard ? after.seq : 0n
    for await (const rows of readRows(pool, span, done, plan.period)) {
      const kept = plan.period ? rows.filter(withinPeriod(plan.period)) : rows
      await names.learn(kept)
      const ends = seals ? await sealsOf(pool, span, rows) : undefined
      const entries = kept.map((row) => names.entry(row, ends?.get(row.seq)))
      yield plan.accounts ? entries.filter(touches(plan.accounts)) : entries
    }
  }
}

async function* readRows(
  pool: Pool,
  { shard, from, to, late }: Span,
  done: bigint,
  period: ExportPlan['period'],
): AsyncGenerator<JournalEntry[]> {
  const first = done >= BigInt(from) ? done + 1n : BigInt(from)
  const where = `shard = ${shard} AND seq >= ${first} AND`
  yield* copyRows(pool, `${where} seq <= ${late}`)
  if (!period || BigInt(late) >= BigInt(to)) return
  // Booked after the period, with a value date in it.
  const stab = `tstzrange(effective_at, at, '[]') @> '${period.to}'::timestamptz`
  yield* copyRows(
    pool,
    `${where} seq > ${late} AND seq <= ${to} AND effective_at IS NOT NULL AND ${stab}`,
  )
}

/** All values in `where` are numbers and instants of our own making: COPY takes no parameters. */
async function* copyRows(pool: Pool, where: string): AsyncGenerator<JournalEntry[]> {
  const select = `SELECT ${COLUMNS} FROM ledger.journal WHERE ${where} ORDER BY seq`
  for await (const lines of copyLines(pool, select)) yield lines.map(parseEntry)
}

const withinPeriod =
  ({ from, to }: NonNullable<ExportPlan['period']>) =>
  (row: JournalEntry): boolean => {
    const value = valueAt(row)
    return value >= micro(from) && value < micro(to)
  }

/** `2026-11-01T00:00:00.000Z` as entries write it, so that text compares like time. */
const micro = (iso: string): string => iso.replace('Z', '000Z')

const touches =
  (wanted: readonly Account[]) =>
  ({ postings }: ExportedEntry): boolean =>
    postings.some(({ account: { code } }) =>
      wanted.some((name) => (name.endsWith(':') ? code.startsWith(name) : code === name)),
    )

/** The seals that end with one of these rows and lie in the span whole, by their last number. */
async function sealsOf(
  pool: Pool,
  { shard, from }: Span,
  rows: readonly JournalEntry[],
): Promise<ReadonlyMap<bigint, ExportedSeal>> {
  const found = await pool.query<Record<'from' | 'to' | 'at' | 'prev' | 'hash', string>>(
    `SELECT seq_from::text AS "from", seq_to::text AS "to", encode(prev, 'hex') AS prev,
       encode(hash, 'hex') AS hash, (at AT TIME ZONE 'UTC')::text || '+00' AS at
     FROM ledger.seal WHERE shard = $1 AND seq_to BETWEEN $2 AND $3 AND seq_from >= $4`,
    [shard, rows[0]!.seq, rows.at(-1)!.seq, from],
  )
  return new Map(
    found.rows.map(({ from: first, to, at, prev, hash }) => {
      const seqTo = BigInt(to)
      return [seqTo, { shard, seqFrom: BigInt(first), seqTo, at: isoInstant(at), prev, hash }]
    }),
  )
}
