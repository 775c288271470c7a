import { dayRange, dayRangeQuery } from '../days.ts'
import { type AnyRoute, callerOf, route } from '../route.ts'
import { KeyAccount, type KeyAccountDeps, readKeyAccount } from './key-account.ts'

export const walletRoutes = (deps: KeyAccountDeps): readonly AnyRoute[] => [
  route('GET /v1/wallet/balance', {
    summary:
      'Returns credits, limits, free calls, the rate limit, and spending by day and service.',
    auth: 'key',
    query: dayRangeQuery,
    response: { status: 200, schema: KeyAccount },
    handle: async (request) => ({
      body: await readKeyAccount(
        deps,
        callerOf(request),
        dayRange(request.query, deps.clock.now()),
      ),
    }),
  }),
]
