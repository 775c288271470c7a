import type { PoolClient } from 'pg'
import type { Findings } from './findings.ts'

const ACCOUNTS = 'every account that the hub refers to exists'
const SHARDS = 'every shard that the hub refers to exists'
const ENTRIES = 'every entry that the hub refers to exists'

/** Rows of `hub` that are checked at a time; bounds the memory of the process. */
const BATCH_ROWS = 5_000

/** Row of `hub` that refers to the ledger. */
interface ReferringRow {
  /** Names the row, such as `hub.payout (id …)`. */
  readonly row: string
  /** Account id, shard number or entry key (`<owner> <id> <phase>`). */
  readonly target: string
}

const references = (table: string, key: readonly string[], target: string): string => {
  const label = `hub.${table} (${key.map((column) => `${column} %s`).join(', ')})`
  return `SELECT format('${label}', ${key.join(', ')}) AS row, ${target} AS target
    FROM hub.${table} WHERE ${target} IS NOT NULL`
}

const toEntry = (owner: string, id: string, phase: string): string =>
  `(${owner} || ' ' || ${id} || ' ' || ${phase})`

/** Queries of all references to accounts, as `ReferringRow`. */
const ACCOUNT_REFERENCES = [
  references('api_key', ['id'], 'credits'),
  references('credit_watch', ['account'], 'account'),
  references('earning', ['account', 'day'], 'account'),
  references('low_balance', ['account', 'shard', 'seq'], 'account'),
  references('low_balance_threshold', ['account'], 'account'),
  references('open_hold', ['shard', 'seq'], 'owner'),
  references('payment_intent', ['call'], 'owner'),
  references('payout_part', ['payout', 'account', 'shard'], 'account'),
  references('reconciliation_exception', ['id'], 'answer'),
]

const SHARD_REFERENCES = [
  references('cursor', ['name', 'shard'], 'shard'),
  references('payout', ['id'], 'shard'),
  references('principal', ['id'], 'shard'),
]

const ENTRY_REFERENCES = [
  references('payout_part', ['payout', 'account', 'shard'], toEntry('account', 'entry', 'phase')),
  references('reconciliation_exception', ['id'], toEntry('answer', 'answer_id', 'answer_phase')),
  references('wallet_entry', ['id'], toEntry('owner', 'entry', 'phase')),
]

/** Returns those of the targets that exist in the ledger. */
type FindTargets = (targets: readonly string[]) => Promise<ReadonlySet<string>>

/**
 * Checks every reference from `hub` to the ledger; no foreign key can, because the ledger may be
 * distributed by shard. Reads both sides separately, `BATCH_ROWS` rows at a time, in the
 * transaction of `client`.
 * @param shards all shards of the ledger
 */
export async function checkReferences(
  client: PoolClient,
  shards: readonly number[],
  findings: Findings,
): Promise<void> {
  const known = new Set(shards.map(String))
  const checks: readonly [string, readonly string[], FindTargets][] = [
    [ACCOUNTS, ACCOUNT_REFERENCES, (ids) => findAccounts(client, ids)],
    [SHARDS, SHARD_REFERENCES, async () => known],
    [ENTRIES, ENTRY_REFERENCES, (keys) => findEntries(client, shards, keys)],
  ]
  for (const [check, queries, find] of checks) {
    findings.list(check)
    for (const query of queries) {
      for await (const batch of readBatches(client, query)) {
        const existing = await find([...new Set(batch.map(({ target }) => target))])
        for (const { row, target } of batch) {
          if (!existing.has(target)) findings.add(check, `${row}: ${target} is missing`)
        }
      }
    }
  }
}

async function* readBatches(client: PoolClient, query: string): AsyncGenerator<ReferringRow[]> {
  await client.query(
    `DECLARE referring NO SCROLL CURSOR FOR SELECT q.row, q.target::text FROM (${query}) q`,
  )
  for (;;) {
    const { rows } = await client.query<ReferringRow>(`FETCH ${BATCH_ROWS} FROM referring`)
    if (rows.length > 0) yield rows
    if (rows.length < BATCH_ROWS) break
  }
  await client.query('CLOSE referring')
}

async function findAccounts(
  client: PoolClient,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>(
    'SELECT a.id::text FROM ledger.account a WHERE a.id = ANY ($1::bigint[])',
    [ids],
  )
  return new Set(rows.map(({ id }) => id))
}

/** Looks entries up in one shard after the other, until all are found. */
async function findEntries(
  client: PoolClient,
  shards: readonly number[],
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for (const shard of shards) {
    const missing = keys.filter((key) => !found.has(key)).map((key) => key.split(' '))
    if (missing.length === 0) break
    const { rows } = await client.query<{ key: string }>(
      `SELECT ${toEntry('j.owner', 'j.id', 'j.phase')} AS key
       FROM unnest($2::bigint[], $3::uuid[], $4::smallint[]) u(owner, id, phase)
       JOIN ledger.journal j ON j.owner = u.owner AND j.id = u.id AND j.phase = u.phase
       WHERE j.shard = $1`,
      [shard, ...[0, 1, 2].map((part) => missing.map((key) => key[part]))],
    )
    for (const { key } of rows) found.add(key)
  }
  return found
}
