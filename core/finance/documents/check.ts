import type { Pool } from 'pg'
import type { Clock } from '../../clock.ts'
import { Fault } from '../../errors.ts'
import { json } from '../../money.ts'
import type { DocumentKind, IssuedDocument } from './document.ts'
import { SOURCES } from './sources.ts'
import { changeName } from './statement-content.ts'

/** Clock at which all months are over. */
const END_OF_TIME: Clock = { now: () => new Date(8_640_000_000_000_000) }

/** Compares documents with the journal. @returns what is wrong, by number */
export async function checkDocuments(
  pool: Pool,
  documents: readonly IssuedDocument[],
): Promise<ReadonlyMap<string, string>> {
  const wrong = new Map<string, string>()
  for (const document of documents) {
    const fault = await findDifference(pool, document)
    if (fault !== undefined) wrong.set(document.number, fault)
  }
  return wrong
}

/** Reads the figures of a document again. @returns the first difference */
async function findDifference(pool: Pool, document: IssuedDocument): Promise<string | undefined> {
  const { kind, subject, content } = document
  const deps = { pool, clock: END_OF_TIME }
  const principals = [document.principal, ...(await findOwner(pool, document))]
  try {
    const source = await SOURCES[kind](deps, principals, subject)
    const stored = {
      lines: content.lines.map(({ description, quantity, gross_microdollars: gross, ledger }) =>
        stable({ description, quantity, gross, ledger }),
      ),
      tables: content.tables.map(({ title, rows }) =>
        stable({ title, rows: rows.map((row) => ({ ...row, name: changeName(row.name) })) }),
      ),
    }
    const found = {
      lines: source.lines.map(({ description, quantity, gross, ledger }) =>
        stable({ description, quantity, gross: json(gross), ledger }),
      ),
      tables: source.tables.map(stable),
    }
    const index = stored.lines.findIndex((line, i) => line !== found.lines[i])
    if (index !== -1) return `line ${index + 1} is ${found.lines[index]} in the journal`
    return stable(stored) === stable(found) ? undefined : 'other lines or balances in the journal'
  } catch (error) {
    if (error instanceof Fault) return error.message
    throw error
  }
}

/** Entries of a provider between two of its payouts, of which no commission is invoiced. */
interface CommissionGap {
  readonly account: string
  readonly shard: number
  readonly from: bigint
  readonly to: bigint
}

/**
 * Finds entries that no invoice of commission can include. Each payout has one, so that the ranges
 * of the payouts of an account must follow one another on each shard, from the first entry on.
 */
export async function findCommissionGaps(pool: Pool): Promise<readonly CommissionGap[]> {
  const { rows: gaps } = await pool.query<Omit<CommissionGap, 'account'> & { id: bigint }>(
    `SELECT g.account AS id, g.shard, g.before + 1 AS from, g.after_seq AS to
     FROM (SELECT p.account, p.shard, p.after_seq, coalesce(lag(p.upto_seq)
         OVER (PARTITION BY p.account, p.shard ORDER BY p.upto_seq), 0) AS before
       FROM hub.payout_part p) g
     WHERE g.after_seq <> g.before ORDER BY g.account, g.shard, g.before`,
  )
  const { rows: names } = await pool.query<{ id: bigint; code: string }>(
    'SELECT id, code FROM ledger.account WHERE id = ANY ($1)',
    [gaps.map(({ id }) => id)],
  )
  const codes = new Map(names.map(({ id, code }) => [id, code]))
  return gaps.map(({ id, ...gap }) => ({ ...gap, account: codes.get(id) ?? String(id) }))
}

/** JSON with sorted members: PostgreSQL reorders those of stored documents. */
const stable = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )

const PROVIDER_SQL: Partial<Record<DocumentKind, string>> = {
  commission: 'SELECT o.provider FROM hub.payout o WHERE o.id = $1',
  earnings: "SELECT split_part($1, ':', 1)",
}

/** Owner of the provider of a document, which may have changed since. */
async function findOwner(pool: Pool, { kind, subject }: IssuedDocument): Promise<string[]> {
  const provider = PROVIDER_SQL[kind]
  if (provider === undefined) return []
  const { rows } = await pool.query<{ owner: string }>(
    `SELECT p.owner FROM hub.provider p WHERE p.owner IS NOT NULL AND p.id = (${provider})`,
    [subject],
  )
  return rows.map(({ owner }) => owner)
}
