import { type AddressPorts, addressRoutes } from './provider-address.ts'
import { type BalancePorts, balanceRoutes } from './provider-balance.ts'
import { commissionRoutes } from './provider-commission.ts'
import { providerKeyRoutes } from './provider-keys.ts'
import { payoutRoutes } from './provider-payouts.ts'
import { type StatisticsPorts, statisticsRoutes } from './provider-statistics.ts'
import type { AnyRoute } from './route.ts'

type ProviderPorts = AddressPorts &
  BalancePorts &
  StatisticsPorts & { readonly commissionBps: number }

/** What providers see and do, beside what they sell. */
export const providerRoutes = (ports: ProviderPorts): readonly AnyRoute[] => [
  ...providerKeyRoutes(ports.pool),
  ...addressRoutes(ports),
  ...balanceRoutes(ports),
  ...payoutRoutes(ports.pool),
  ...commissionRoutes(ports.pool, ports.commissionBps),
  ...statisticsRoutes(ports),
]
