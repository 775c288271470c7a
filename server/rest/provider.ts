import { type AddressPorts, addressRoutes } from './provider-address.ts'
import { providerKeyRoutes } from './provider-keys.ts'
import { payoutRoutes } from './provider-payouts.ts'
import type { AnyRoute } from './route.ts'

/** What providers see and do, beside what they sell. */
export const providerRoutes = (ports: AddressPorts): readonly AnyRoute[] => [
  ...providerKeyRoutes(ports.pool),
  ...addressRoutes(ports),
  ...payoutRoutes(ports.pool),
]
