import type { Pool } from 'pg'
import {
  COLUMNS,
  isoInstant,
  type JournalEntry,
  type Leg,
  legsOf,
  parseEntry,
  valueAt,
} from '../entry.ts'
import type { Account, LedgerEvent } from '../events.ts'
import { copyLines } from './copy-lines.ts'
import { type CallFacts, type Evidence, evidenceOf } from './evidence.ts'
import type { ExportPlan, Span } from './plan.ts'
import { accountingSymbol, decimalsOf } from './units.ts'

export interface ExportedAccount {
  readonly id: string
  readonly code: Account
  /** Asset, or its symbol in accounting formats. */
  readonly asset: string
  readonly decimals: number
}

/** One leg of an exported entry, in units of the account's asset, credit-positive. */
export interface ExportedPosting {
  readonly account: ExportedAccount
  readonly amount: bigint
}

export interface ExportedEntry {
  readonly row: JournalEntry
  readonly event: LedgerEvent['type']
  readonly postings: readonly ExportedPosting[]
  /** Empty in the ledger's own format. */
  readonly evidence: Evidence
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

/** Caches accounts and event names by id; neither ever changes. */
class NameCache {
  readonly #pool: Pool
  readonly #accounts = new Map<string, ExportedAccount>()
  readonly #events = new Map<number, LedgerEvent['type']>()

  constructor(pool: Pool) {
    this.#pool = pool
  }

  async load(legsOfEntries: readonly (readonly Leg[])[]): Promise<void> {
    if (this.#events.size === 0) {
      const { rows } = await this.#pool.query<{ id: number; event: LedgerEvent['type'] }>(
        'SELECT id, event FROM ledger.kind',
      )
      for (const { id, event } of rows) this.#events.set(id, event)
    }
    if (this.#accounts.size > ACCOUNTS_MAX) this.#accounts.clear()
    const missing = new Set<string>()
    for (const legs of legsOfEntries) {
      for (const { account } of legs) if (!this.#accounts.has(account)) missing.add(account)
    }
    if (missing.size === 0) return
    const { rows } = await this.#pool.query<ExportedAccount>(
      `SELECT a.id::text AS id, a.code, s.code AS asset, s.decimals
       FROM ledger.account a JOIN ledger.asset s ON s.id = a.asset WHERE a.id = ANY ($1)`,
      [[...missing]],
    )
    for (const account of rows) this.#accounts.set(account.id, account)
  }

  entry(row: JournalEntry, legs: readonly Leg[], seal: ExportedSeal | undefined): ExportedEntry {
    const postings = legs.map(({ account, amount }) => ({
      account: this.#accounts.get(account)!,
      amount,
    }))
    return { row, event: this.#events.get(row.kind)!, postings, evidence: {}, seal }
  }
}

export interface ReadOptions {
  readonly after?: { readonly shard: number; readonly seq: bigint } | undefined
  readonly seals?: boolean
  /** True for the ledger's own units and all assets, without evidence. @defaultValue false */
  readonly isRaw?: boolean | undefined
}

/** Reads the entries of a plan in order (shard, seq), in pages of one COPY per shard. */
export async function* readEntries(
  pool: Pool,
  plan: ExportPlan,
  { after, seals = false, isRaw = false }: ReadOptions = {},
): AsyncGenerator<readonly ExportedEntry[]> {
  const names = new NameCache(pool)
  for (const span of plan.spans) {
    if (after && span.shard < after.shard) continue
    const done = after?.shard === span.shard ? after.seq : 0n
    for await (const rows of readRows(pool, span, done, plan.period)) {
      const selected = plan.period ? rows.filter(isInPeriod(plan.period)) : rows
      const legs = selected.map(legsOf)
      await names.load(legs)
      const ends = seals ? await readSeals(pool, span, rows) : undefined
      const entries = selected.map((row, i) => names.entry(row, legs[i]!, ends?.get(row.seq)))
      const touched = plan.accounts ? entries.filter(touchesAccounts(plan.accounts)) : entries
      yield isRaw ? touched : await toAccounting(pool, touched, plan)
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
  // Entries posted after the period with a value date in it.
  const stab = `tstzrange(effective_at, at, '[]') @> '${period.to}'::timestamptz`
  yield* copyRows(
    pool,
    `${where} seq > ${late} AND seq <= ${to} AND effective_at IS NOT NULL AND ${stab}`,
  )
}

/** COPY takes no parameters; `where` contains only numbers and instants formatted by this file. */
async function* copyRows(pool: Pool, where: string): AsyncGenerator<JournalEntry[]> {
  const select = `SELECT ${COLUMNS} FROM ledger.journal WHERE ${where} ORDER BY seq`
  for await (const lines of copyLines(pool, select)) yield lines.map(parseEntry)
}

const isInPeriod =
  ({ from, to }: NonNullable<ExportPlan['period']>) =>
  (row: JournalEntry): boolean => {
    const value = valueAt(row)
    return value >= toMicroseconds(from) && value < toMicroseconds(to)
  }

/** Converts `2026-11-01T00:00:00.000Z` to the format of entries: text order is time order. */
const toMicroseconds = (iso: string): string => iso.replace('Z', '000Z')

const touchesAccounts =
  (wanted: readonly Account[]) =>
  ({ postings }: ExportedEntry): boolean =>
    postings.some(({ account: { code } }) =>
      wanted.some((name) => (name.endsWith(':') ? code.startsWith(name) : code === name)),
    )

/** Converts units, leaves out permissions and entries about them alone, and adds the evidence. */
async function toAccounting(
  pool: Pool,
  entries: readonly ExportedEntry[],
  { allAssets }: ExportPlan,
): Promise<ExportedEntry[]> {
  const facts = await readCallFacts(pool, entries)
  const converted: ExportedEntry[] = []
  for (const { row, event, postings: own, seal } of entries) {
    const postings: ExportedPosting[] = []
    for (const posting of own) {
      const { account, amount } = posting
      const asset = accountingSymbol(account.asset, allAssets)
      if (asset === account.asset) postings.push(posting)
      else if (asset !== undefined)
        postings.push({ account: { ...account, asset, decimals: decimalsOf(asset) }, amount })
    }
    if (postings.length === 0) continue
    const codes = own.map(({ account }) => account.code)
    const evidence = evidenceOf(row, codes, facts.get(row.id))
    converted.push({ row, event, postings, evidence, seal })
  }
  return converted
}

const SELLERS: Account = 'liabilities:x402-out:in-transit'

/** Reads the calls of payments, and the sellers of external calls, by entry id. */
async function readCallFacts(
  pool: Pool,
  entries: readonly ExportedEntry[],
): Promise<ReadonlyMap<string, CallFacts>> {
  const sold = entries.filter(({ event }) => event === 'call.sold').map(({ row }) => row.id)
  const external = entries
    .filter(
      ({ event, postings }) =>
        event.startsWith('external.') || postings.some(({ account }) => account.code === SELLERS),
    )
    .map(({ row }) => row.id)
  if (sold.length + external.length === 0) return new Map()
  const { rows } = await pool.query<{ id: string } & CallFacts>(
    `SELECT entry AS id, id AS call, NULL AS seller FROM hub.call
       WHERE entry = ANY ($1) AND entry <> id
     UNION ALL SELECT call, call, host FROM hub.payment_intent WHERE call = ANY ($2)`,
    [sold, external],
  )
  return new Map(rows.map(({ id, call, seller }) => [id, { call, seller: seller ?? undefined }]))
}

/** Reads the seals that end with one of these rows and lie within the span, by last number. */
async function readSeals(
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
