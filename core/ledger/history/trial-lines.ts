import type { Pool, PoolClient } from 'pg'
import { readSnapshot } from '../../db/transaction.ts'
import type { Asset } from '../events.ts'
import { type TrialBalanceRow, totalsByAsset } from '../trial-balance.ts'

/** A line of a trial balance: one account, or all accounts of one kind. */
export interface TrialLine extends TrialBalanceRow {
  readonly accounts: number
}

/** Total debits and credits of an asset; neither is negative. */
export interface DebitsAndCredits {
  readonly debits: bigint
  readonly credits: bigint
}

export interface TrialLines {
  readonly lines: readonly TrialLine[]
  /** Sums over all pages of the filter. */
  readonly sums: ReadonlyMap<Asset, DebitsAndCredits>
  /** Balances of all accounts, regardless of the filter: zero for each asset if sound. */
  readonly totals: ReadonlyMap<Asset, bigint>
}

export interface TrialFilter {
  readonly prefix: string
  readonly zero: boolean
  /** True to merge accounts that exist per key, provider or service into one line. */
  readonly grouped: boolean
  readonly limit: number
  readonly after: string
}

/**
 * Reads a page of the trial balance of an instant (see `balancesAt`), ordered by code, with the
 * sums of all pages. At the end of a past day its cost does not grow with the number of accounts.
 * @param instant undefined for the current balances
 */
export function trialLines(
  pool: Pool,
  filter: TrialFilter,
  instant: Date | undefined,
): Promise<TrialLines> {
  const { prefix, zero, grouped, limit, after } = filter
  return readSnapshot(pool, async (client) => {
    const context: TrialContext = { client, at: instant ?? 'infinity' }
    const all = await readGroups(context, '')
    const groups = isWithinGroup(prefix, all)
      ? await readGroups(context, prefix)
      : all.filter(({ account }) => account.startsWith(prefix))
    if (!grouped) {
      const lines = await readAccounts(context, filter)
      return { lines, sums: sumByAsset(groups), totals: totalsByAsset(all) }
    }
    const lines = (zero ? await addEmptyGroups(context, groups, prefix) : groups)
      .map(({ account, asset, balance, accounts }) => ({ account, asset, balance, accounts }))
      .filter(({ account }) => account > after)
      .slice(0, limit)
    return { lines, sums: sumByAsset(groups.map(netSides)), totals: totalsByAsset(all) }
  })
}

interface TrialContext {
  readonly client: PoolClient
  readonly at: Date | 'infinity'
}

type AccountGroup = TrialLine & DebitsAndCredits

/** Returns true if the prefix selects only some of the accounts of a line. */
const isWithinGroup = (prefix: string, lines: readonly TrialLine[]): boolean =>
  lines.some(
    ({ account }) => account.endsWith(':') && prefix.startsWith(account) && prefix !== account,
  )

/** Nets a line: its balance is either a debit or a credit. */
const netSides = ({ asset, balance }: AccountGroup) => ({
  asset,
  debits: balance < 0n ? -balance : 0n,
  credits: balance > 0n ? balance : 0n,
})

function sumByAsset(
  sides: readonly (DebitsAndCredits & { readonly asset: Asset })[],
): ReadonlyMap<Asset, DebitsAndCredits> {
  const sums = new Map<Asset, DebitsAndCredits>()
  for (const { asset, debits, credits } of sides) {
    const sum = sums.get(asset) ?? { debits: 0n, credits: 0n }
    sums.set(asset, { debits: sum.debits + debits, credits: sum.credits + credits })
  }
  return sums
}

type GroupRow = TrialLine & Record<keyof DebitsAndCredits, string>

const GROUP_COLUMNS = 'g.code AS account, s.code AS asset, g.accounts::integer, g.debits, g.credits'

/** Reads the groups of accounts with the prefix and a non-zero balance, ordered by code. */
async function readGroups({ client, at }: TrialContext, prefix: string): Promise<AccountGroup[]> {
  const { rows } = await client.query<GroupRow>(
    `SELECT ${GROUP_COLUMNS}
     FROM ledger.groups_at($1, $2) g JOIN ledger.asset s ON s.id = g.asset
     ORDER BY g.code COLLATE "C", s.code`,
    [at, prefix],
  )
  return rows.map(toGroup)
}

/**
 * Reads all groups of accounts with a non-zero balance at each instant, in one query. Before the
 * first entry there is none: that is found without adding up all accounts.
 */
export async function readGroupsAt(
  client: PoolClient,
  instants: readonly Date[],
): Promise<readonly (readonly AccountGroup[])[]> {
  const { rows } = await client.query<GroupRow & { readonly n: number }>(
    `SELECT w.n::integer, ${GROUP_COLUMNS}
     FROM unnest($1::timestamptz[]) WITH ORDINALITY w(at, n)
     CROSS JOIN LATERAL ledger.groups_at(w.at) g JOIN ledger.asset s ON s.id = g.asset
     WHERE EXISTS (SELECT FROM ledger.cut(w.at) c WHERE c.seq > 0)
       OR EXISTS (SELECT FROM ledger.late(w.at))`,
    [instants],
  )
  const byInstant = Map.groupBy(rows, ({ n }) => n)
  return instants.map((_, i) => (byInstant.get(i + 1) ?? []).map(toGroup))
}

function toGroup({ account, asset, accounts, ...sides }: GroupRow): AccountGroup {
  const [debits, credits] = [BigInt(sides.debits), BigInt(sides.credits)]
  return { account, asset, accounts, debits, credits, balance: credits - debits }
}

/** Adds open accounts with a zero balance to the groups. */
async function addEmptyGroups(
  { client }: TrialContext,
  groups: readonly AccountGroup[],
  prefix: string,
): Promise<TrialLine[]> {
  const { rows } = await client.query<Omit<TrialLine, 'balance'>>(
    `SELECT ledger.account_group(a.code) AS account, s.code AS asset, count(*)::integer AS accounts
     FROM ledger.account a JOIN ledger.asset s ON s.id = a.asset WHERE starts_with(a.code, $1)
     GROUP BY 1, 2 ORDER BY ledger.account_group(a.code) COLLATE "C", 2`,
    [prefix],
  )
  const balances = new Map(
    groups.map(({ account, asset, balance }) => [`${account} ${asset}`, balance]),
  )
  return rows.map((row) => ({ ...row, balance: balances.get(`${row.account} ${row.asset}`) ?? 0n }))
}

const ACCOUNTS_PER_QUERY = 20_000

/** Reads a page of accounts, with as many queries as needed to fill it. */
async function readAccounts(
  { client, at }: TrialContext,
  { prefix, zero, limit, after }: TrialFilter,
): Promise<TrialLine[]> {
  const lines: TrialLine[] = []
  let last = after
  for (let size = 2 * limit; ; size = Math.min(4 * size, ACCOUNTS_PER_QUERY)) {
    const { rows } = await client.query<Omit<TrialLine, 'balance'> & { balance: string }>(
      `SELECT a.code AS account, s.code AS asset, h.balance, 1 AS accounts
       FROM ledger.held_at(ARRAY(SELECT n.id FROM ledger.account n WHERE n.code COLLATE "C" > $2
           AND n.code COLLATE "C" >= $3 AND n.code COLLATE "C" < $3 || '~' -- is in no code
         ORDER BY n.code COLLATE "C" LIMIT $4), $1) h
       JOIN ledger.account a ON a.id = h.account JOIN ledger.asset s ON s.id = a.asset
       ORDER BY a.code COLLATE "C"`,
      [at, last, prefix, size],
    )
    const found = rows.map((row) => ({ ...row, balance: BigInt(row.balance) }))
    lines.push(...found.filter(({ balance }) => zero || balance !== 0n))
    if (lines.length >= limit || rows.length < size) return lines.slice(0, limit)
    last = rows.at(-1)!.account
  }
}
