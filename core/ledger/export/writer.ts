import type { Pool } from 'pg'
import { valueAt } from '../entry.ts'
import type { Account, Asset } from '../events.ts'
import { beancount } from './beancount.ts'
import { copyLines } from './copy-lines.ts'
import { csv } from './csv.ts'
import type { Format } from './format.ts'
import { IdSet } from './id-set.ts'
import { jsonl } from './jsonl.ts'
import { hledger, ledgerCli } from './plain-text.ts'
import {
  type AccountBalance,
  coversWholeJournal,
  type ExportOrder,
  type ExportPlan,
  planExport,
} from './plan.ts'
import { type ExportedEntry, readEntries } from './read-entries.ts'
import { accountingSymbol, dayOf, decimalsOf } from './units.ts'

export const FORMATS = { jsonl, csv, hledger, ledger: ledgerCli, beancount } as const
export type FormatName = keyof typeof FORMATS

/** Position after the last written entry, as plain JSON: an interrupted export resumes here. */
export interface ExportPosition {
  readonly shard: number
  readonly seq: string
  readonly entries: number
  readonly lastDay: string
}

/** A part of the file. Parts end between entries. */
export interface ExportPart {
  readonly text: string
  /** Omitted before and after the entries, where an export cannot be resumed. */
  readonly position?: ExportPosition
}

export interface WriteOptions {
  /** Accounts declared so far; updated while writing. */
  readonly declared?: IdSet
  readonly resume?: ExportPosition | undefined
  /** Balances at the start of the period, for formats that support them. */
  readonly opening?: readonly AccountBalance[] | undefined
}

const START_POSITION: ExportPosition = { shard: -1, seq: '0', entries: 0, lastDay: '' }

/** Writes a planned export part by part, in constant memory and always with the same bytes. */
export async function* writeExport(
  pool: Pool,
  name: FormatName,
  plan: ExportPlan,
  { declared = new IdSet(), resume, opening }: WriteOptions = {},
): AsyncGenerator<ExportPart> {
  const format: Format = FORMATS[name]
  let position: ExportPosition = resume ?? START_POSITION
  if (!resume) {
    const balances = opening && toSymbols(opening, plan)
    const before =
      balances && plan.period ? (format.opening?.(balances, plan.period.from) ?? '') : ''
    const names =
      before === '' ? '' : await declareOpeningAccounts(pool, format, balances!, declared)
    yield { text: format.start(plan) + names + before }
  }
  const after = resume && { shard: resume.shard, seq: BigInt(resume.seq) }
  const seals = format.seal !== undefined && !plan.period && !plan.accounts
  for await (const page of readEntries(pool, plan, { after, seals, isRaw: format.isRaw })) {
    const last = page.at(-1)?.row
    if (!last) continue
    let text = ''
    let { entries, lastDay } = position
    for (const entry of page) {
      text += declareNew(format, entry, declared) + format.entry(entry)
      if (entry.seal) text += format.seal?.(entry.seal) ?? ''
      entries++
      const day = dayOf(valueAt(entry.row))
      if (day > lastDay) lastDay = day
    }
    position = { shard: last.shard, seq: String(last.seq), entries, lastDay }
    yield { text, position }
  }
  const { entries, lastDay } = position
  if (format.closing && entries > 0 && coversWholeJournal(plan)) {
    for await (const balances of closingBalances(pool, plan, declared)) {
      const shown = toSymbols(balances, plan)
      if (shown.length > 0) yield { text: format.closing(shown, lastDay) }
    }
  }
  if (format.end) yield { text: format.end(entries) }
}

export async function* exportLedger(
  pool: Pool,
  name: FormatName,
  order: ExportOrder = {},
  opening?: readonly AccountBalance[],
): AsyncGenerator<string> {
  const plan = await planExport(pool, order)
  for await (const { text } of writeExport(pool, name, plan, { opening })) yield text
}

/** Converts balances to the symbols of accounting formats. */
const toSymbols = (
  balances: readonly AccountBalance[],
  { allAssets }: ExportPlan,
): readonly AccountBalance[] =>
  balances.flatMap((balance) => {
    const asset = accountingSymbol(balance.asset, allAssets)
    return asset === undefined ? [] : [{ ...balance, asset }]
  })

function declareNew(format: Format, { postings }: ExportedEntry, declared: IdSet): string {
  if (!format.account) return ''
  let text = ''
  for (const { account } of postings) {
    if (declared.has(account.id)) continue
    declared.add(account.id)
    text += format.account(account)
  }
  return text
}

async function declareOpeningAccounts(
  pool: Pool,
  format: Format,
  opening: readonly AccountBalance[],
  declared: IdSet,
): Promise<string> {
  const nonZero = opening.filter(({ amount }) => amount !== 0n)
  const { rows } = await pool.query<{ id: string; code: string }>(
    'SELECT id::text AS id, code FROM ledger.account WHERE code = ANY ($1)',
    [nonZero.map(({ code }) => code)],
  )
  for (const { id } of rows) declared.add(id)
  return nonZero
    .map(({ code, asset }) =>
      format.account?.({ id: '', code, asset, decimals: decimalsOf(asset) }),
    )
    .join('')
}

/**
 * Reads the balances after the last entry of a plan, ordered by account id: the current balances
 * minus the entries posted since. Accounts that the export has not declared are included only with
 * a non-zero balance, which would be an error.
 */
async function* closingBalances(
  pool: Pool,
  { spans }: ExportPlan,
  declared: IdSet,
): AsyncGenerator<AccountBalance[]> {
  if (spans.length === 0) return
  const values = spans.map(({ shard, to }) => `(${shard}::smallint, ${to}::bigint)`)
  for await (const lines of copyLines(pool, closingSelect(values.join(', ')))) {
    const rows = lines.map((line) => line.split('\t'))
    const page = rows.filter(([id = '', , , amount]) => amount !== '0' || declared.has(id))
    if (page.length === 0) continue
    yield page.map(([, code, asset, amount]) => ({
      code: code as Account,
      asset: asset as Asset,
      amount: BigInt(amount!),
    }))
  }
}

const closingSelect = (spans: string): string => `
  WITH span AS (SELECT * FROM (VALUES ${spans}) v(shard, last)), later AS (
    SELECT j.shard, l.account, sum(l.amount) AS amount
    FROM span p
    JOIN ledger.journal j ON j.shard = p.shard AND j.seq > p.last
    CROSS JOIN LATERAL ledger.legs(ROW(j.*)::ledger.journal) l
    GROUP BY j.shard, l.account)
  SELECT a.id, a.code, s.code, sum(b.balance - coalesce(l.amount, 0))
  FROM span p
  JOIN ledger.balance b ON b.shard = p.shard
  JOIN ledger.account a ON a.id = b.account
  JOIN ledger.asset s ON s.id = a.asset
  LEFT JOIN later l ON l.shard = b.shard AND l.account = b.account
  GROUP BY a.id, s.code ORDER BY a.id`
