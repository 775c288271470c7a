import type { Pool } from 'pg'
import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import { csvLine } from '../../../core/ledger/export/csv.ts'
import { decimalsOf, formatUnits } from '../../../core/ledger/export/units.ts'
import { parsePoint } from '../../../core/ledger/history/point.ts'
import { type Movement, type Statement, statement } from '../../../core/ledger/history/statement.ts'
import { json } from '../../../core/money.ts'
import { dayBounds, dayFields } from '../days.ts'
import { linkToNext, listQuery, readCursor, writeCursor } from '../paging.ts'
import { type AnyRoute, type RestReply, route } from '../route.ts'

const units = z.int().meta({ description: 'Units of the asset; credits are positive.' })

const StatementView = z.object({
  account: z.string(),
  asset: z.string(),
  opening: units,
  debits: units,
  credits: units,
  closing: units,
  data: z.array(
    z.object({
      id: z.uuid(),
      event: z.string(),
      booked_at: z.string(),
      value_at: z.string(),
      amount: units,
      balance: units,
      contra: z.array(z.string()).meta({ description: 'Other accounts of the entry.' }),
      author: z.string().nullable(),
      reason: z.string().nullable(),
    }),
  ),
  next_cursor: z.string().nullable(),
  has_more: z.boolean(),
})

export type StatementJson = z.infer<typeof StatementView>

/** Maximum lines of a CSV file; larger ranges need an export. */
const CSV_LINES_MAX = 50_000n
const CSV_PAGE_LINES = 1_000
const ALL_TIME = { from: new Date('1970-01-01T00:00:00Z'), to: new Date('9999-12-31T00:00:00Z') }

/** Account statements by value date, with the balance after each movement. */
export const statementRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  route('GET /v1/finance/accounts/{account}/statement', {
    summary: 'Returns a statement: opening balance, movements with balances, closing balance.',
    auth: 'finance',
    query: listQuery({ ...dayFields }),
    response: { status: 200, schema: StatementView },
    faults: ['not_found'],
    handle: async ({ params, query, url }) => {
      const [at] = readCursor(query.cursor, z.tuple([z.string().max(100)])) ?? []
      const range = { ...dayRange(query), after: at && parsePointCursor(at), limit: query.limit }
      return showStatement(await findStatement(pool, params.account, range), url)
    },
  }),
  route('GET /v1/finance/accounts/{account}/statement.csv', {
    summary: 'Downloads the whole statement as CSV, with amounts as exact decimals.',
    auth: 'finance',
    query: z.strictObject(dayFields),
    response: { status: 200, type: 'text/csv', schema: z.string() },
    faults: ['not_found', 'validation_failed'],
    handle: async ({ params, query }) => {
      const account = params.account
      const file = `${account.replaceAll(/[^\w.-]+/g, '-')}.csv`
      return {
        headers: {
          'Content-Type': 'text/csv; charset=utf-8',
          'Content-Disposition': `attachment; filename="${file}"`,
        },
        body: Buffer.from(await renderCsv(pool, account, dayRange(query))),
      }
    },
  }),
]

interface Range {
  readonly from: Date
  readonly to: Date
  readonly after?: string | undefined
  readonly limit?: number
}

const ACCOUNT = /^[a-z][\w:.-]{0,299}$/

/** @throws Fault `not_found` */
async function findStatement(pool: Pool, account: string, range: Range): Promise<Statement> {
  const found = ACCOUNT.test(account) ? await statement(pool, account, range) : undefined
  if (!found) throw new Fault('not_found', 'The account does not exist.')
  return found
}

function dayRange(query: { readonly from?: string | undefined; readonly to?: string | undefined }) {
  const { from = ALL_TIME.from, to = ALL_TIME.to } = dayBounds(query)
  if (to < from) throw new Fault('validation_failed', '"from" must not be after "to".')
  return { from, to }
}

function parsePointCursor(cursor: string): string {
  try {
    parsePoint(cursor)
    return cursor
  } catch (error) {
    throw new Fault('validation_failed', 'The cursor does not belong to this list.', {
      cause: error,
    })
  }
}

function showStatement(found: Statement, url: string): RestReply {
  const { movements, nextCursor, opening, debits, credits, closing } = found
  const cursor = nextCursor === undefined ? null : writeCursor([nextCursor])
  return {
    ...linkToNext(url, cursor),
    body: {
      account: found.account,
      asset: found.asset,
      opening: json(opening),
      debits: json(debits),
      credits: json(credits),
      closing: json(closing),
      data: movements.map(showMovement),
      next_cursor: cursor,
      has_more: cursor !== null,
    },
  }
}

const showMovement = (movement: Movement) => ({
  id: movement.id,
  event: movement.event,
  booked_at: movement.bookedAt,
  value_at: movement.valueAt,
  amount: json(movement.amount),
  balance: json(movement.balance),
  contra: movement.contra,
  author: stringOrNull(movement.meta?.['author']),
  reason: stringOrNull(movement.meta?.['reason']),
})

const stringOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const CSV_HEADER = [
  'value_at_utc',
  'booked_at_utc',
  'id',
  'event',
  'contra',
  'asset',
  'amount',
  'balance',
]

async function renderCsv(pool: Pool, account: string, range: Range): Promise<string> {
  let written = csvLine(CSV_HEADER)
  let lines = 0n
  let after: string | undefined
  do {
    const page = await findStatement(pool, account, { ...range, after, limit: CSV_PAGE_LINES })
    lines += BigInt(page.movements.length)
    if (lines > CSV_LINES_MAX) {
      throw new Fault(
        'validation_failed',
        `The statement has more than ${CSV_LINES_MAX} lines. Request fewer days or an export.`,
      )
    }
    const shown = (amount: bigint): string => formatUnits(amount, decimalsOf(page.asset))
    for (const { valueAt, bookedAt, id, event, contra, amount, balance } of page.movements) {
      const sides = [page.asset, shown(amount), shown(balance)]
      written += csvLine([valueAt, bookedAt, id, event, contra.join(' '), ...sides])
    }
    after = page.nextCursor
  } while (after !== undefined)
  return written
}
