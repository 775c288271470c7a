import type { Pool } from 'pg'
import { type Clock, dayName, monthStart } from '../../../core/clock.ts'
import type { Caller } from '../../../core/identity/keys.ts'
import { findVisibleKeys } from '../../../core/identity/sub-keys.ts'
import type { JsonObject } from '../../../core/json.ts'
import { json } from '../../../core/money.ts'
import * as s from '../../../core/plugin/schema.ts'
import type { AccountStatus } from '../../../core/usage/account-status.ts'
import { readHistory } from '../../../core/usage/history.ts'
import { readSpending } from '../../../core/usage/spending.ts'
import { balances } from '../../rest/account/credits.ts'
import { showHistoryItem } from '../../rest/account/history.ts'
import { readFreeCalls, readKeySpending } from '../../rest/account/wallet.ts'
import { convertToDollars } from '../dollars.ts'
import { jsonResult } from '../results.ts'
import { asData } from '../third-party.ts'
import { type AnyTool, defineTool, READ_ONLY, type ToolContext } from '../tool.ts'
import { resultSchema } from './schemas.ts'

export interface BalanceDeps {
  readonly pool: Pool
  readonly accountStatus: AccountStatus
  readonly clock: Clock
}

const DEFAULT_HISTORY = 5
const HISTORY_MAX = 20
const SERVICES_MAX = 10

/** `hub_balance`: credits, spending, free calls and limits. */
export const balanceTool = (deps: BalanceDeps): AnyTool =>
  defineTool({
    name: 'hub_balance',
    title: 'Balance and limits',
    description:
      'Shows the credits of your key, what calls in flight reserve, this month’s spending by ' +
      'service, free calls left, rate limits, limits of the key, and the latest entries. Free. ' +
      'Use it before expensive calls; hub_topup buys credits.',
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
      const query = { limit: rows, madeBy }
      const history = rows === 0 ? [] : await readHistory(pool, caller.credits.id, query)
      const value = {
        key_id: caller.keyId,
        ...(await balances(deps, caller)),
        rate_limit: await rateLimitOf(deps, context),
        free_calls: await readFreeCalls(pool, caller),
        ...limitsOf(caller),
        spending_this_month: await (madeBy
          ? readOwnSpending(deps, caller)
          : monthSpending(deps, caller)),
        ...asData({ history: history.map(showHistoryItem) }),
      }
      return jsonResult(convertToDollars(value) as JsonObject)
    },
  })

async function rateLimitOf(
  { accountStatus }: BalanceDeps,
  { caller, rate }: ToolContext,
): Promise<JsonObject> {
  const { headers } = rate
  return {
    tier: await accountStatus.tier(caller.credits),
    requests_per_minute: Number(headers['X-RateLimit-Limit']),
    remaining: Number(headers['X-RateLimit-Remaining']),
    resets_in_seconds: Number(headers['X-RateLimit-Reset']),
  }
}

/** Limits of a sub-key and of the keys above it. */
const limitsOf = ({ limits }: Caller): JsonObject =>
  limits.length === 0
    ? {}
    : {
        key_limits: limits.map(({ keyId, maxCall, maxDay, maxTotal, services }) => ({
          key_id: keyId,
          call_microdollars: maxCall && json(maxCall),
          day_microdollars: maxDay && json(maxDay),
          total_microdollars: maxTotal && json(maxTotal),
          services,
        })),
      }

/** Spending of a sub-key and the keys below it. */
async function readOwnSpending({ pool, clock }: BalanceDeps, caller: Caller): Promise<JsonObject> {
  const now = clock.now()
  const { by_service: services } = await readKeySpending(pool, caller, monthStart(now), now)
  const byCharge = services.toSorted((a, b) => b.charged_microdollars - a.charged_microdollars)
  return {
    total_microdollars: services.reduce((sum, one) => sum + one.charged_microdollars, 0),
    by_service: byCharge.slice(0, SERVICES_MAX),
  }
}

/** Spending of a main key's credits. */
async function monthSpending(
  { pool, clock }: BalanceDeps,
  { credits }: Caller,
): Promise<JsonObject> {
  const now = clock.now()
  const range = { from: dayName(monthStart(now)), to: dayName(now), by: 'service' } as const
  const services = await readSpending(pool, credits.code, range)
  const byCharge = services.toSorted((a, b) => Number(b.charged - a.charged))
  const total = services.reduce((sum, { charged, refunded }) => sum + charged - refunded, 0n)
  return {
    total_microdollars: json(total),
    by_service: byCharge
      .slice(0, SERVICES_MAX)
      .map(({ groupKey: slug, calls, freeCalls, failed, charged, refunded }) => ({
        service: slug === '' ? 'external' : slug,
        calls: json(calls + freeCalls + failed),
        free_calls: json(freeCalls),
        charged_microdollars: json(charged - refunded),
      })),
  }
}
