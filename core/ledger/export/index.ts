import type { Pool } from 'pg'
import { valueAt } from '../entry.ts'
import { beancount } from './beancount.ts'
import { closingBalances } from './closing.ts'
import { csv } from './csv.ts'
import { dayOf, type Format } from './format.ts'
import { hledger } from './hledger.ts'
import { IdSet } from './id-set.ts'
import { jsonl } from './jsonl.ts'
import { ledgerCli } from './ledger-cli.ts'
import {
  type AccountBalance,
  type ExportOrder,
  type ExportPlan,
  isWhole,
  planExport,
} from './plan.ts'
import { type ExportedEntry, readEntries } from './read.ts'

export const FORMATS = { jsonl, csv, hledger, ledger: ledgerCli, beancount } as const
export type FormatName = keyof typeof FORMATS

/** How far an export has come, as plain JSON: from here it can go on after it was cut off. */
export interface Position {
  readonly shard: number
  readonly seq: string
  readonly entries: number
  readonly lastDay: string
}

/** A part of the file. Parts end at whole entries. */
export interface Part {
  readonly text: string
  /** Left out where it cannot go on: what precedes and what follows the entries is written anew. */
  readonly position?: Position
}

export interface Writing {
  /** The accounts that the text so far has declared; what is declared is added. */
  readonly declared?: IdSet
  /** Goes on behind this. */
  readonly resume?: Position | undefined
  /** The balances at the beginning of the period, for the formats that can hold them. */
  readonly opening?: readonly AccountBalance[] | undefined
}

const START: Position = { shard: -1, seq: '0', entries: 0, lastDay: '' }

/**
 * Writes a planned export, part by part, in constant memory. The same plan gives the same bytes,
 * however it is divided and resumed, and whatever was booked since.
 */
export async function* writeExport(
  pool: Pool,
  name: FormatName,
  plan: ExportPlan,
  { declared = new IdSet(), resume, opening }: Writing = {},
): AsyncGenerator<Part> {
  const format: Format = FORMATS[name]
  let position: Position = resume ?? START
  if (!resume) {
    const before = opening && plan.period ? (format.opening?.(opening, plan.period.from) ?? '') : ''
    const names = before === '' ? '' : await declareAll(pool, format, opening!, declared)
    yield { text: format.start(plan) + names + before }
  }
  const after = resume && { shard: resume.shard, seq: BigInt(resume.seq) }
  const seals = format.seal !== undefined && !plan.period && !plan.accounts
  for await (const page of readEntries(pool, plan, { after, seals })) {
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
  if (format.closing && entries > 0 && isWhole(plan)) {
    for await (const balances of closingBalances(pool, plan, declared)) {
      yield { text: format.closing(balances, lastDay) }
    }
  }
  if (format.end) yield { text: format.end(entries) }
}

/** The whole of an export as text, for those who need no file. */
export async function* exportLedger(
  pool: Pool,
  name: FormatName,
  order: ExportOrder = {},
  opening?: readonly AccountBalance[],
): AsyncGenerator<string> {
  const plan = await planExport(pool, order)
  for await (const { text } of writeExport(pool, name, plan, { opening })) yield text
}

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

async function declareAll(
  pool: Pool,
  format: Format,
  opening: readonly AccountBalance[],
  declared: IdSet,
): Promise<string> {
  const { rows } = await pool.query<{ id: string; code: string; asset: never; decimals: number }>(
    `SELECT a.id::text AS id, a.code, s.code AS asset, s.decimals FROM ledger.account a
     JOIN ledger.asset s ON s.id = a.asset WHERE a.code = ANY ($1) ORDER BY a.id`,
    [opening.filter(({ amount }) => amount !== 0n).map(({ code }) => code)],
  )
  for (const { id } of rows) declared.add(id)
  return rows.map((account) => format.account?.(account) ?? '').join('')
}
