import type { Pool } from 'pg'
import { z } from 'zod'
import { Fault } from '../../core/errors.ts'
import { closeMonth } from '../../core/finance/decisions.ts'
import { balancesAt } from '../../core/ledger/history/balance.ts'
import { closedPeriods } from '../../core/ledger/history/period.ts'
import { type BalanceFilter, balancesNow, totals } from '../../core/ledger/trial-balance.ts'
import { json } from '../../core/money.ts'
import { daysOf } from './admin-audit.ts'
import { reason } from './reason.ts'
import { type AnyRoute, route, staffOf } from './route.ts'

const units = z.int().meta({
  description: 'In units of the asset (USDC: microdollars), credit-positive.',
})

const TrialBalance = z.object({
  day: z.iso.date().nullable().meta({ description: 'Up to its end, by value date; null: now.' }),
  accounts: z.array(z.object({ account: z.string(), asset: z.string(), balance: units })),
  totals: z.array(z.object({ asset: z.string(), total: units })).meta({
    description: 'Zero for each asset, in sound books.',
  }),
  more: z.boolean().meta({ description: 'There are more accounts: name how theirs begin.' }),
})

const Period = z.object({
  month: z.string(),
  closed_at: z.iso.datetime(),
  author: z.string(),
})

export type TrialBalanceJson = z.infer<typeof TrialBalance>
export type PeriodJson = z.infer<typeof Period>

const month = z.string().regex(/^20\d\d-(?:0[1-9]|1[0-2])$/, 'a month, such as 2026-11')
const ACCOUNTS_MAX = 2_000

/** The books as a whole: what all accounts hold, and which months are closed. */
export const booksRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  balanceRoute(pool),
  ...periodRoutes(pool),
]

const balanceRoute = (pool: Pool): AnyRoute =>
  route({
    method: 'GET',
    path: '/v1/finance/trial-balance',
    summary: 'What every account held at the end of a day, by value date; or holds now.',
    auth: 'finance',
    query: z.strictObject({
      day: z.iso.date().optional(),
      prefix: z
        .string()
        .regex(/^[\w:.-]{1,200}$/, 'the beginning of an account')
        .optional()
        .meta({ description: 'Those accounts alone that begin so.' }),
      zero: z.enum(['show', 'hide']).default('hide').meta({
        description: 'Whether accounts are shown that hold nothing.',
      }),
    }),
    answer: { status: 200, schema: TrialBalance },
    handle: async ({ query: { day, prefix = '', zero } }) => {
      const asked = { prefix, zero: zero === 'show', limit: ACCOUNTS_MAX + 1 }
      const { to: end } = daysOf({ to: day })
      const found = end ? await asOf(pool, end, asked) : await balancesNow(pool, asked)
      const { accounts } = found
      return {
        body: {
          day: day ?? null,
          accounts: accounts
            .slice(0, ACCOUNTS_MAX)
            .map((row) => ({ ...row, balance: json(row.balance) })),
          totals: [...found.totals].map(([asset, total]) => ({ asset, total: json(total) })),
          more: accounts.length > ACCOUNTS_MAX,
        },
      }
    },
  })

async function asOf(pool: Pool, end: Date, { prefix, zero, limit }: BalanceFilter) {
  const all = await balancesAt(pool, end)
  const accounts = all
    .filter(({ account, balance }) => (zero || balance !== 0n) && account.startsWith(prefix))
    .slice(0, limit)
  return { accounts, totals: totals(all) }
}

const periodRoutes = (pool: Pool): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/finance/periods',
    summary: 'The months whose books are closed, the newest first.',
    auth: 'finance',
    answer: { status: 200, schema: z.object({ data: z.array(Period) }) },
    handle: async () => {
      const periods = await closedPeriods(pool)
      const data = periods.toReversed().map(({ closedAt, ...period }) => ({
        ...period,
        closed_at: closedAt.toISOString(),
      }))
      return { body: { data } }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/finance/periods',
    summary: 'Closes a month, and all before it, for good: nothing is booked into them any more.',
    auth: 'finance',
    body: z.strictObject({ month, reason }),
    answer: {
      status: 201,
      or: 200,
      schema: z.object({ closed: z.array(z.string()) }).meta({
        description: 'The months that it closed; none: they were closed already.',
      }),
    },
    faults: ['not_closable'],
    handle: async (request) => {
      const { month: last, reason: why } = request.body
      const closed = await closeMonth({ pool }, staffOf(request), last, why)
      return { status: closed.length > 0 ? 201 : 200, body: { closed } }
    },
  }),
]

/** @throws Fault `not_found` */
export function accountNamed(name: string): string {
  if (/^[a-z][\w:.-]{0,299}$/.test(name)) return name
  throw new Fault('not_found', 'There is no such account.')
}
