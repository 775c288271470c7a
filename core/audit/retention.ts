import type { Pool } from 'pg'
import {
  DELETION_RULES,
  type DeletionName,
  type DeletionRule,
  KEPT_DATA,
  type KeptData,
  RETENTION_VARIABLES,
  type RetentionDays,
} from './retention-policy.ts'

/** Data of one kind, how long it is stored, and evidence that the rule is followed. */
export interface RetentionLine {
  readonly name: string
  readonly data: string
  readonly tables: readonly string[]
  /** days: a job deletes it. For the others see `KeptData`. */
  readonly kept: 'days' | KeptData['kept']
  readonly days: number | null
  /** Environment variable of the days; null: they cannot be changed. */
  readonly setting: string | null
  /** Job that deletes it. */
  readonly deletedBy: string | null
  /** Instant from which the days of the oldest row count. */
  readonly oldestAt: Date | null
  /** Rows that the job should have deleted a day ago. */
  readonly overdue: bigint | null
  /** Evidence: true if serving logins have no right to delete from any of these tables. */
  readonly isProtected: boolean | null
}

const daysOf = ({ days }: DeletionRule, retention: RetentionDays): number =>
  typeof days === 'number' ? days : retention[days]

/** Deletes what a rule allows to delete. */
export function deleteExpired(
  pool: Pool,
  name: DeletionName,
  retention: RetentionDays,
): Promise<unknown> {
  const rule: DeletionRule = DELETION_RULES[name]
  return pool.query(
    `DELETE FROM ${rule.table} WHERE ${rule.where ?? 'true'}
       AND ${rule.since} < now() - make_interval(days => $1)`,
    [daysOf(rule, retention)],
  )
}

/** Reads which data is stored how long, first what jobs delete. */
export async function readRetention(
  pool: Pool,
  retention: RetentionDays,
): Promise<readonly RetentionLine[]> {
  const deleted = await Promise.all(
    Object.entries(DELETION_RULES).map(([name, rule]) => readDeletion(pool, name, rule, retention)),
  )
  const tables = await readTables(pool)
  return [
    ...deleted,
    ...Object.entries(KEPT_DATA).map(([name, kept]) => toLine(name, kept, tables)),
  ]
}

async function readDeletion(
  pool: Pool,
  name: string,
  rule: DeletionRule,
  retention: RetentionDays,
): Promise<RetentionLine> {
  const days = daysOf(rule, retention)
  const { rows } = await pool.query<Pick<RetentionLine, 'oldestAt' | 'overdue'>>(
    `SELECT min(d.since) AS "oldestAt",
       count(*) FILTER (WHERE d.since < now() - make_interval(days => $1)) AS overdue
     FROM (SELECT ${rule.since} AS since FROM ${rule.table} WHERE ${rule.where ?? 'true'}) d`,
    [days + 1],
  )
  return {
    name,
    data: rule.data,
    tables: [rule.table, ...(rule.dependents ?? [])],
    kept: 'days',
    days,
    setting: typeof rule.days === 'number' ? null : RETENTION_VARIABLES[rule.days],
    deletedBy: rule.job,
    ...rows[0]!,
    isProtected: null,
  }
}

interface StoredTable {
  readonly name: string
  /** True if the role of serving logins may delete rows. */
  readonly deletable: boolean
}

/** Reads the tables of the hub; partitions count as their table. */
export async function readTables(pool: Pool): Promise<readonly StoredTable[]> {
  const { rows } = await pool.query<StoredTable>(
    `SELECT c.oid::regclass::text AS name,
       EXISTS (SELECT FROM unnest('{hub_app,hub_jobs,hub_finance}'::text[]) r
           WHERE has_table_privilege(r, c.oid, 'DELETE'))
         AND NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid
           AND t.tgname IN ('append_only', 'keep', 'keep_row')) AS deletable
     FROM pg_class c WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND c.relnamespace IN ('hub'::regnamespace, 'ledger'::regnamespace) ORDER BY 1`,
  )
  return rows
}

function toLine(name: string, data: KeptData, stored: readonly StoredTable[]): RetentionLine {
  const { schema, kept } = data
  const tables =
    data.tables?.map((table) => `${schema}.${table}`) ??
    stored.map((table) => table.name).filter((table) => table.startsWith(`${schema}.`))
  const isDeletable = stored.some((table) => table.deletable && tables.includes(table.name))
  return {
    name,
    data: data.data,
    tables,
    kept,
    days: null,
    setting: null,
    deletedBy: null,
    oldestAt: null,
    overdue: null,
    isProtected: kept === 'evidence' ? !isDeletable : null,
  }
}
