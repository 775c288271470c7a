import type { Pool, PoolClient } from 'pg'
import {
  type ExportedPosting,
  formatUnits,
  type JournalRange,
  onSnapshot,
  readPostings,
} from './journal.ts'

const ACCOUNTS_PER_PAGE = 1_000

interface ExportedAccount {
  readonly id: string
  readonly code: string
  readonly asset: string
  readonly decimals: number
  /** Over all shards, credit-positive. */
  readonly balance: string
}

/**
 * The entries of a range as a journal of hledger, debit-positive, in the order of the journal: the
 * same bytes for the same range. An export of the whole journal ends with an assertion of every
 * balance as the ledger keeps it, so that `hledger check` compares the two.
 */
export function exportHledger(pool: Pool, range: JournalRange = {}): AsyncIterable<string> {
  const whole = range.shard === undefined && range.to === undefined && (range.from ?? 1n) <= 1n
  return onSnapshot(pool, async function* (client) {
    yield await commodities(client)
    for await (const page of readAccounts(client)) {
      yield page.map(({ code }) => `account ${code}\n`).join('')
    }
    let lastDay = ''
    for await (const page of readPostings(client, range)) {
      yield page.map((posting, i) => transactionPart(posting, page[i - 1])).join('')
      for (const { at } of page) if (day(at) > lastDay) lastDay = day(at)
    }
    if (!whole || lastDay === '') return
    for await (const page of readAccounts(client)) {
      yield `\n${lastDay} * balances as the ledger keeps them\n${page.map(assertion).join('')}`
    }
  })
}

const day = (at: string): string => at.slice(0, 10)

async function commodities(client: PoolClient): Promise<string> {
  const { rows } = await client.query<{ code: string; decimals: number }>(
    'SELECT code, decimals FROM ledger.asset ORDER BY id',
  )
  // hledger wants a decimal mark here, also without decimals.
  const lines = rows.map(({ code, decimals }) => `commodity 1.${'0'.repeat(decimals)} ${code}\n`)
  return `${lines.join('')}\n`
}

async function* readAccounts(client: PoolClient): AsyncGenerator<ExportedAccount[]> {
  for (let after = '0', full = true; full; ) {
    const { rows } = await client.query<ExportedAccount>(
      `SELECT a.id::text AS id, a.code, s.code AS asset, s.decimals,
         coalesce((SELECT sum(b.balance) FROM ledger.balance b WHERE b.account = a.id), 0)::text
           AS balance
       FROM ledger.account a JOIN ledger.asset s ON s.id = a.asset
       WHERE a.id > $1 ORDER BY a.id LIMIT $2`,
      [after, ACCOUNTS_PER_PAGE],
    )
    full = rows.length === ACCOUNTS_PER_PAGE
    after = rows.at(-1)?.id ?? after
    if (rows.length > 0) yield rows
  }
}

/** The line of a posting, after the head of its transaction when it is the first. */
function transactionPart(posting: ExportedPosting, before: ExportedPosting | undefined): string {
  const { shard, seq, at, effectiveAt, id, event, account, asset, decimals, amount } = posting
  const line = `    ${account}  ${formatUnits(-amount, decimals)} ${asset}\n`
  if (before?.seq === seq && before.shard === shard) return line
  const effective = effectiveAt === null ? '' : `, effective:${effectiveAt}`
  return `\n${day(at)} * (${shard}/${seq}) ${event}  ; id:${id}${effective}\n${line}`
}

function assertion({ code, asset, decimals, balance }: ExportedAccount): string {
  const zero = formatUnits(0n, decimals)
  return `    ${code}  ${zero} ${asset} == ${formatUnits(-BigInt(balance), decimals)} ${asset}\n`
}
