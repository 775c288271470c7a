import type { Pool } from 'pg'
import { z } from 'zod'
import type { Asset } from '../../../core/ledger/events.ts'
import { trialLines } from '../../../core/ledger/history/trial-lines.ts'
import { json } from '../../../core/money.ts'
import { dayBounds } from '../days.ts'
import { pageSize } from '../paging.ts'
import { type AnyRoute, route } from '../route.ts'

const units = z.int().meta({
  description: 'Units of the asset (USDC: microdollars); credits are positive.',
})

const unsignedUnits = z.int().min(0).meta({ description: 'Units of the asset.' })

const TrialBalance = z.object({
  day: z.iso
    .date()
    .nullable()
    .meta({ description: 'Balances at the end of this day, by value date. null: now.' }),
  accounts: z.array(
    z.object({
      account: z.string(),
      asset: z.string(),
      balance: units,
      accounts: z.int().meta({ description: 'Number of accounts in this line.' }),
    }),
  ),
  sums: z
    .array(z.object({ asset: z.string(), debits: unsignedUnits, credits: unsignedUnits }))
    .meta({ description: 'Sums of all accounts that match the query, on all pages.' }),
  totals: z.array(z.object({ asset: z.string(), total: units })).meta({
    description: 'Sum of all accounts in the ledger; zero for each asset if it balances.',
  }),
  more: z.boolean().meta({ description: 'True if there are more accounts; narrow the prefix.' }),
})

export type TrialBalanceJson = z.infer<typeof TrialBalance>

const ACCOUNTS_MAX = 2_000
const accountPrefix = z.string().regex(/^[\w:.-]{1,300}$/, 'must be the start of an account name')

export const ledgerRoutes = ({ pool }: { readonly pool: Pool }): readonly AnyRoute[] => [
  trialBalanceRoute(pool),
]

const trialBalanceRoute = (pool: Pool): AnyRoute =>
  route('GET /v1/finance/trial-balance', {
    summary: 'Returns all account balances at the end of a day, by value date, or now.',
    auth: 'finance',
    query: z.strictObject({
      day: z.iso.date().optional(),
      prefix: accountPrefix.optional().meta({ description: 'Start of account names.' }),
      zero: z.enum(['show', 'hide']).default('hide').meta({
        description: 'Accounts with zero balance.',
      }),
      by: z.enum(['account', 'group']).default('account').meta({
        description: 'group: one line for all keys, one for all providers, one for all services.',
      }),
      limit: pageSize(ACCOUNTS_MAX, ACCOUNTS_MAX),
      after: accountPrefix.optional().meta({ description: 'Last account of the previous page.' }),
    }),
    response: { status: 200, schema: TrialBalance },
    handle: async ({ query: { day, prefix: begin = '', zero, by, limit, after = '' } }) => {
      const filter = { prefix: begin, zero: zero === 'show', grouped: by === 'group', after }
      const found = await trialLines(
        pool,
        { ...filter, limit: limit + 1 },
        dayBounds({ to: day }).to,
      )
      return {
        body: {
          day: day ?? null,
          accounts: found.lines
            .slice(0, limit)
            .map((line) => ({ ...line, balance: json(line.balance) })),
          sums: sortByAsset(found.sums).map(([asset, { debits, credits }]) => ({
            asset,
            debits: json(debits),
            credits: json(credits),
          })),
          totals: sortByAsset(found.totals).map(([asset, total]) => ({
            asset,
            total: json(total),
          })),
          more: found.lines.length > limit,
        },
      }
    },
  })

const sortByAsset = <Of>(sums: ReadonlyMap<Asset, Of>): [Asset, Of][] =>
  [...sums].sort(([a], [b]) => (a < b ? -1 : 1))
