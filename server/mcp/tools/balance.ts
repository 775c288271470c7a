import { monthStart } from '../../../core/clock.ts'
import { findVisibleKeys } from '../../../core/identity/sub-keys.ts'
import type { JsonObject } from '../../../core/json.ts'
import * as s from '../../../core/plugin/schema.ts'
import { readHistory } from '../../../core/usage/history.ts'
import { showHistoryItem } from '../../rest/account/history.ts'
import { type KeyAccountDeps, readKeyAccount } from '../../rest/account/key-account.ts'
import { convertToDollars } from '../dollars.ts'
import { jsonResult } from '../results.ts'
import { asData } from '../third-party.ts'
import { type AnyTool, defineTool, READ_ONLY, type ToolContext } from '../tool.ts'
import { resultSchema } from './schemas.ts'

type KeyAccountView = Awaited<ReturnType<typeof readKeyAccount>>

const DEFAULT_HISTORY = 5
const HISTORY_MAX = 20
const SERVICES_MAX = 10

/** `hub_balance`: credits, spending, free calls and limits. */
export const balanceTool = (deps: KeyAccountDeps): AnyTool =>
  defineTool({
    name: 'hub_balance',
    title: 'Balance and limits',
    description:
      'Shows the credits of your key, those reserved by calls in flight, this month’s spending ' +
      'by service, free calls left, rate limits, limits of the key, and the latest entries. ' +
      'Free. Use it before expensive calls; hub_topup buys credits.',
    annotations: READ_ONLY,
    input: s.object({
      history_limit: s.optional(
        s.integer({ minimum: 0, maximum: HISTORY_MAX, description: `Default ${DEFAULT_HISTORY}.` }),
      ),
    }),
    output: resultSchema({
      balance_usd: { type: 'string' },
      reserved_usd: { type: 'string' },
      rate_limit: { type: 'object' },
      spending_this_month: { type: 'object' },
    }),
    run: async ({ history_limit: rows = DEFAULT_HISTORY }, context) => {
      const { caller } = context
      const { pool } = deps
      const madeBy = await findVisibleKeys(pool, caller)
      const query = { view: 'calls', limit: rows, madeBy } as const
      const history = rows === 0 ? [] : await readHistory(pool, caller.credits, query)
      const now = deps.clock.now()
      const range = { since: monthStart(now), until: now }
      const { wallet_address: _, spending, ...account } = await readKeyAccount(deps, caller, range)
      const value = {
        ...account,
        rate_limit: withRemaining(account.rate_limit, context),
        spending_this_month: spendingOf(spending),
        ...asData({ history: history.map(showHistoryItem) }),
      }
      return jsonResult(convertToDollars(value) as JsonObject)
    },
  })

/** Rate limit of the account, with what is left of this minute. */
const withRemaining = (limit: object, { rate: { headers } }: ToolContext) => ({
  ...limit,
  remaining: Number(headers['X-RateLimit-Remaining']),
  resets_in_seconds: Number(headers['X-RateLimit-Reset']),
})

/** The most expensive services, and the total of all. */
const spendingOf = ({ by_service: services }: KeyAccountView['spending']): JsonObject => ({
  total_microdollars: services.reduce((sum, one) => sum + one.charged_microdollars, 0),
  by_service: services
    .toSorted((a, b) => b.charged_microdollars - a.charged_microdollars)
    .slice(0, SERVICES_MAX),
})
