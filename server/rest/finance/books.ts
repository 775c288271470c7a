import type { Pool } from 'pg'
import { z } from 'zod'
import { Fault } from '../../../core/errors.ts'
import { closeMonth } from '../../../core/finance/decisions.ts'
import type { Asset } from '../../../core/ledger/events.ts'
import { closedPeriods } from '../../../core/ledger/history/period.ts'
import { trialLines } from '../../../core/ledger/history/trial-lines.ts'
import { json } from '../../../core/money.ts'
import { daysOf } from '../admin/audit.ts'
import { reason } from '../reason.ts'
import { type AnyRoute, route, staffOf } from '../route.ts'

const units = z.int().meta({
  description: 'In units of the asset (USDC: microdollars), credit-positive.',
})

const side = z.int().min(0).meta({ description: 'In units of the asset.' })

const TrialBalance = z.object({
  day: z.iso.date().nullable().meta({ description: 'Up to its end, by value date; null: now.' }),
  accounts: z.array(
    z.object({
      account: z.string(),
      asset: z.string(),
      balance: units,
      accounts: z.int().meta({ description: 'How many it stands for.' }),
    }),
  ),
  sums: z.array(z.object({ asset: z.string(), debits: side, credits: side })).meta({
    description: 'Of all that was asked for, what further pages show too.',
  }),
  totals: z.array(z.object({ asset: z.string(), total: units })).meta({
    description: 'Of all accounts that there are: zero for each asset, in sound books.',
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
const prefix = z.string().regex(/^[\w:.-]{1,300}$/, 'the beginning of an account')

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
      prefix: prefix.optional().meta({ description: 'Those accounts alone that begin so.' }),
      zero: z.enum(['show', 'hide']).default('hide').meta({
        description: 'Whether accounts are shown that hold nothing.',
      }),
      by: z.enum(['account', 'group']).default('account').meta({
        description: 'group: all accounts of keys are one line, as those of providers, services.',
      }),
      limit: z
        .string()
        .regex(/^\d{1,4}$/, 'a whole number')
        .transform(Number)
        .pipe(z.int().min(1).max(ACCOUNTS_MAX))
        .default(ACCOUNTS_MAX),
      after: prefix.optional().meta({ description: 'The account before the first one.' }),
    }),
    answer: { status: 200, schema: TrialBalance },
    handle: async ({ query: { day, prefix: begin = '', zero, by, limit, after = '' } }) => {
      const asked = { prefix: begin, zero: zero === 'show', grouped: by === 'group', after }
      const found = await trialLines(pool, { ...asked, limit: limit + 1 }, daysOf({ to: day }).to)
      return {
        body: {
          day: day ?? null,
          accounts: found.lines
            .slice(0, limit)
            .map((line) => ({ ...line, balance: json(line.balance) })),
          sums: byAsset(found.sums).map(([asset, { debits, credits }]) => ({
            asset,
            debits: json(debits),
            credits: json(credits),
          })),
          totals: byAsset(found.totals).map(([asset, total]) => ({ asset, total: json(total) })),
          more: found.lines.length > limit,
        },
      }
    },
  })

const byAsset = <Of>(sums: ReadonlyMap<Asset, Of>): [Asset, Of][] =>
  [...sums].sort(([a], [b]) => (a < b ? -1 : 1))

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
