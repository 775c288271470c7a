import type { Pool, PoolClient } from 'pg'
import { readTogether } from '../../db/transaction.ts'
import type { Asset } from '../events.ts'
import { type TrialBalanceRow, totals } from '../trial-balance.ts'

/** An account, or all of one kind together. */
export interface TrialLine extends TrialBalanceRow {
  /** How many accounts it stands for. */
  readonly accounts: number
}

/** What an asset comes to on both sides; neither is below zero. */
export interface Sides {
  readonly debits: bigint
  readonly credits: bigint
}

export interface TrialLines {
  readonly lines: readonly TrialLine[]
  /** Of all lines that were asked for, those before and after these too. */
  readonly sums: ReadonlyMap<Asset, Sides>
  /** Of all accounts that there are: zero for each asset in sound books. */
  readonly totals: ReadonlyMap<Asset, bigint>
}

export interface TrialFilter {
  /** Accounts that begin so. */
  readonly prefix: string
  /** Whether those that hold nothing are wanted too. */
  readonly zero: boolean
  /** Whether accounts of which there is one for each key, provider or service are one line. */
  readonly grouped: boolean
  readonly limit: number
  /** The account before the first one. */
  readonly after: string
}

/**
 * The trial balance of an instant, as `balancesAt` has it: a page of its lines by code, with the
 * sums of all. For the end of a day that is over it costs no more with more accounts.
 * @param instant undefined: as it is now
 */
export function trialLines(
  pool: Pool,
  filter: TrialFilter,
  instant: Date | undefined,
): Promise<TrialLines> {
  const { prefix, zero, grouped, limit, after } = filter
  return readTogether(pool, async (client) => {
    const books: Books = { client, at: instant ?? 'infinity' }
    const all = await groupsOf(books, '')
    const groups = isPartOf(prefix, all)
      ? await groupsOf(books, prefix)
      : all.filter(({ account }) => account.startsWith(prefix))
    if (!grouped) {
      const lines = await accountsOf(books, filter)
      return { lines, sums: sumsOf(groups), totals: totals(all) }
    }
    const lines = (zero ? await withEmpty(books, groups, prefix) : groups)
      .map(({ account, asset, balance, accounts }) => ({ account, asset, balance, accounts }))
      .filter(({ account }) => account > after)
      .slice(0, limit)
    return { lines, sums: sumsOf(groups.map(netOf)), totals: totals(all) }
  })
}

/** Where it is read, and as of when. */
interface Books {
  readonly client: PoolClient
  readonly at: Date | 'infinity'
}

/** A line, and what its accounts come to on each side. */
type Group = TrialLine & Sides

/** Whether those that begin so are some accounts of one of these lines. */
const isPartOf = (prefix: string, lines: readonly TrialLine[]): boolean =>
  lines.some(
    ({ account }) => account.endsWith(':') && prefix.startsWith(account) && prefix !== account,
  )

/** A line is on one side, whatever its accounts are. */
const netOf = ({ asset, balance }: Group) => ({
  asset,
  debits: balance < 0n ? -balance : 0n,
  credits: balance > 0n ? balance : 0n,
})

function sumsOf(sides: readonly (Sides & { readonly asset: Asset })[]): ReadonlyMap<Asset, Sides> {
  const sums = new Map<Asset, Sides>()
  for (const { asset, debits, credits } of sides) {
    const sum = sums.get(asset) ?? { debits: 0n, credits: 0n }
    sums.set(asset, { debits: sum.debits + debits, credits: sum.credits + credits })
  }
  return sums
}

/** The lines by groups, of accounts that begin so and hold anything: by code. */
async function groupsOf({ client, at }: Books, prefix: string): Promise<Group[]> {
  const { rows } = await client.query<TrialLine & Record<keyof Sides, string>>(
    `SELECT g.code AS account, s.code AS asset, g.accounts::integer, g.debits, g.credits
     FROM ledger.groups_at($1, $2) g JOIN ledger.asset s ON s.id = g.asset
     ORDER BY g.code COLLATE "C", s.code`,
    [at, prefix],
  )
  return rows.map((row) => {
    const sides = { debits: BigInt(row.debits), credits: BigInt(row.credits) }
    return { ...row, ...sides, balance: sides.credits - sides.debits }
  })
}

/** The same with all accounts that are open, whether or not they hold anything. */
async function withEmpty(
  { client }: Books,
  groups: readonly Group[],
  prefix: string,
): Promise<TrialLine[]> {
  const { rows } = await client.query<Omit<TrialLine, 'balance'>>(
    `SELECT ledger.account_group(a.code) AS account, s.code AS asset, count(*)::integer AS accounts
     FROM ledger.account a JOIN ledger.asset s ON s.id = a.asset WHERE starts_with(a.code, $1)
     GROUP BY 1, 2 ORDER BY ledger.account_group(a.code) COLLATE "C", 2`,
    [prefix],
  )
  const held = new Map(
    groups.map(({ account, asset, balance }) => [`${account} ${asset}`, balance]),
  )
  return rows.map((row) => ({ ...row, balance: held.get(`${row.account} ${row.asset}`) ?? 0n }))
}

/** So many accounts are looked at, at most, for one page in one go. */
const ACCOUNTS_AT_ONCE = 20_000

/** A page of accounts: as many of the next ones are looked at as it takes. */
async function accountsOf(
  { client, at }: Books,
  { prefix, zero, limit, after }: TrialFilter,
): Promise<TrialLine[]> {
  const lines: TrialLine[] = []
  let last = after
  for (let size = 2 * limit; ; size = Math.min(4 * size, ACCOUNTS_AT_ONCE)) {
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
