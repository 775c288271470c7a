import type { AnyRoute } from '../route.ts'
import { type BalanceDeps, balanceRoutes } from './balance.ts'
import { serviceCallRoutes } from './calls.ts'
import { commissionRoutes } from './commission.ts'
import { providerKeyRoutes } from './keys.ts'
import { type PayoutAddressDeps, payoutAddressRoutes } from './payout-address.ts'
import { payoutRoutes } from './payouts.ts'
import { type StatisticsDeps, statisticsRoutes } from './statistics.ts'

type ProviderDeps = PayoutAddressDeps &
  BalanceDeps &
  StatisticsDeps & { readonly commissionBps: number }

/** Routes of `/v1/provider`, except services. */
export const providerRoutes = (deps: ProviderDeps): readonly AnyRoute[] => [
  ...providerKeyRoutes(deps.pool),
  ...payoutAddressRoutes(deps),
  ...balanceRoutes(deps),
  ...payoutRoutes(deps.pool),
  ...commissionRoutes(deps.pool, deps.commissionBps),
  ...statisticsRoutes(deps),
  ...serviceCallRoutes(deps),
]
