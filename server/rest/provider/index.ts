import type { AnyRoute } from '../route.ts'
import { type AddressPorts, addressRoutes } from './address.ts'
import { type BalancePorts, balanceRoutes } from './balance.ts'
import { commissionRoutes } from './commission.ts'
import { providerKeyRoutes } from './keys.ts'
import { payoutRoutes } from './payouts.ts'
import { type StatisticsPorts, statisticsRoutes } from './statistics.ts'

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
