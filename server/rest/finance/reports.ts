import type { Pool } from 'pg'
import { z } from 'zod'
import {
  type FinancialStatement,
  financialStatement,
  financialStatements,
  STATEMENTS,
} from '../../../core/finance/financial-statements.ts'
import {
  parseReportPeriod,
  previousPeriod,
  type ReportPeriod,
} from '../../../core/finance/report-period.ts'
import { json } from '../../../core/money.ts'
import { type AnyRoute, route } from '../route.ts'

export const reportPeriod = z.string().transform((name, context): ReportPeriod => {
  const period = parseReportPeriod(name)
  if (period) return period
  context.addIssue({ code: 'custom', message: 'must be 2026-11, 2026-Q4 or 2026' })
  return z.NEVER
})

const Line = z.object({
  name: z.string(),
  amounts: z.array(z.int()).meta({
    description: 'Microdollars by period, positive on the normal side of the section.',
  }),
})

const StatementView = z.object({
  statement: z.enum(STATEMENTS),
  periods: z.array(z.object({ name: z.string(), from: z.iso.datetime(), to: z.iso.datetime() })),
  sections: z.array(z.object({ name: z.string(), lines: z.array(Line), totals: z.array(z.int()) })),
  results: z.array(Line).meta({
    description: '"difference" compares both sides and is zero if the ledger balances.',
  }),
})

export type FinancialStatementJson = z.infer<typeof StatementView>

const SUMMARIES = {
  'income-statement': 'Returns income, expenses and net income of a period, and of another one.',
  'balance-sheet': 'Returns assets, liabilities and equity at the end of a period.',
  'cash-flow': 'Returns the change in cash (USDC) in a period and its causes.',
} as const

const PeriodQuery = z.strictObject({
  period: reportPeriod.meta({ description: 'UTC month, quarter or year: 2026-11.' }),
  compare: reportPeriod.optional().meta({ description: 'Default: the period before.' }),
})

/** Financial statements by period with comparison, tied to the trial balance. */
export const reportRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  route('GET /v1/finance/statements', {
    summary: 'Returns income statement, balance sheet and cash flow from one snapshot.',
    auth: 'finance',
    query: PeriodQuery,
    response: { status: 200, schema: z.object({ data: z.array(StatementView) }) },
    handle: async ({ query: { period, compare = previousPeriod(period) } }) => {
      const found = await financialStatements(pool, STATEMENTS, [period, compare])
      return { body: { data: found.map(showStatement) } }
    },
  }),
  ...STATEMENTS.map((name) =>
    route(`GET /v1/finance/${name}`, {
      summary: SUMMARIES[name],
      auth: 'finance',
      query: PeriodQuery,
      response: { status: 200, schema: StatementView },
      handle: async ({ query: { period, compare = previousPeriod(period) } }) => ({
        body: showStatement(await financialStatement(pool, name, [period, compare])),
      }),
    }),
  ),
]

const showStatement = (found: FinancialStatement): FinancialStatementJson => ({
  statement: found.name,
  periods: found.periods.map(({ name, from, to }) => ({
    name,
    from: from.toISOString(),
    to: to.toISOString(),
  })),
  sections: found.sections.map(({ name, lines, totals }) => ({
    name,
    lines: lines.map(showLine),
    totals: totals.map(json),
  })),
  results: found.results.map(showLine),
})

const showLine = ({ name, amounts }: FinancialStatement['results'][number]) => ({
  name,
  amounts: amounts.map(json),
})
