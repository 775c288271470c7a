import type { Pool } from 'pg'
import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import { csvLine } from '../../../core/ledger/export/csv.ts'
import { decimalsOf, formatUnits } from '../../../core/ledger/export/format.ts'
import { parsePoint } from '../../../core/ledger/history/point.ts'
import { type Movement, type Statement, statement } from '../../../core/ledger/history/statement.ts'
import { json } from '../../../core/money.ts'
import { daysOf } from '../admin/audit.ts'
import { paging, readCursor, writeCursor } from '../paging.ts'
import { type AnyRoute, type RestReply, route } from '../route.ts'
import { accountNamed } from './books.ts'

const units = z.int().meta({ description: 'In units of the asset, credit-positive.' })

const Statements = z.object({
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
      contra: z.array(z.string()).meta({ description: 'The other accounts of the entry.' }),
      author: z.string().nullable(),
      reason: z.string().nullable(),
    }),
  ),
  next_cursor: z.string().nullable(),
  has_more: z.boolean(),
})

export type StatementJson = z.infer<typeof Statements>

const days = {
  from: z.iso.date().optional().meta({ description: 'The first UTC day.' }),
  to: z.iso.date().optional().meta({ description: 'The last UTC day.' }),
}

/** Lines of a file: more of them are an export. */
const LINES_MAX = 50_000n
const PAGE = 1_000
const EVER = { from: new Date('1970-01-01T00:00:00Z'), to: new Date('9999-12-31T00:00:00Z') }

/** What happened to an account, by value date, with what was left after each movement. */
export const statementRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/finance/accounts/{account}/statement',
    summary: 'An account over some days: opening, movements with the balance after each, closing.',
    auth: 'finance',
    query: z.strictObject({ ...paging, ...days }),
    answer: { status: 200, schema: Statements },
    faults: ['not_found'],
    handle: async ({ params, query, url }) => {
      const [at] = readCursor(query.cursor, z.tuple([z.string().max(100)])) ?? []
      const asked = { ...rangeOf(query), after: at && pointIn(at), limit: query.limit }
      return showStatement(await find(pool, params['account'] ?? '', asked), url)
    },
  }),
  route({
    method: 'GET',
    path: '/v1/finance/accounts/{account}/statement.csv',
    summary: 'The same as CSV, whole; amounts are exact decimals of the asset.',
    auth: 'finance',
    query: z.strictObject(days),
    answer: { status: 200, type: 'text/csv', schema: z.string() },
    faults: ['not_found', 'validation_failed'],
    handle: async ({ params, query }) => {
      const account = params['account'] ?? ''
      const file = `${account.replaceAll(/[^\w.-]+/g, '-')}.csv`
      return {
        headers: {
          'Content-Type': 'text/csv; charset=utf-8',
          'Content-Disposition': `attachment; filename="${file}"`,
        },
        body: Buffer.from(await csvOf(pool, account, rangeOf(query))),
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

/** @throws Fault `not_found` */
async function find(pool: Pool, account: string, range: Range): Promise<Statement> {
  const found = await statement(pool, accountNamed(account), range)
  if (!found) throw new Fault('not_found', 'There is no such account.')
  return found
}

function rangeOf(query: { readonly from?: string | undefined; readonly to?: string | undefined }) {
  const { from = EVER.from, to = EVER.to } = daysOf(query)
  if (to < from) throw new Fault('validation_failed', 'The period ends before it begins.')
  return { from, to }
}

function pointIn(cursor: string): string {
  try {
    parsePoint(cursor)
    return cursor
  } catch (error) {
    throw new Fault('validation_failed', 'The cursor is not one of this list.', { cause: error })
  }
}

function showStatement(found: Statement, url: string): RestReply {
  const { movements, nextCursor, opening, debits, credits, closing } = found
  const cursor = nextCursor === undefined ? null : writeCursor([nextCursor])
  const next = new URL(url)
  if (cursor !== null) next.searchParams.set('cursor', cursor)
  return {
    ...(cursor !== null && { headers: { Link: `<${next.pathname}${next.search}>; rel="next"` } }),
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
  author: text(movement.meta?.['author']),
  reason: text(movement.meta?.['reason']),
})

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)

const HEADER = [
  'value_at_utc',
  'booked_at_utc',
  'id',
  'event',
  'contra',
  'asset',
  'amount',
  'balance',
]

async function csvOf(pool: Pool, account: string, range: Range): Promise<string> {
  let written = csvLine(HEADER)
  let lines = 0n
  let after: string | undefined
  do {
    const page = await find(pool, account, { ...range, after, limit: PAGE })
    lines += BigInt(page.movements.length)
    if (lines > LINES_MAX) {
      throw new Fault(
        'validation_failed',
        `It has more than ${LINES_MAX} lines: take fewer days, or start an export.`,
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
