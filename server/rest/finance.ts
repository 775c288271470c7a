import { type OutgoingPorts, outgoingRoutes } from './finance-outgoing.ts'
import { type PaymentsPorts, paymentsRoutes } from './finance-payments.ts'
import { type WalletsPorts, walletsRoutes } from './finance-wallets.ts'
import type { AnyRoute } from './route.ts'

type FinancePorts = OutgoingPorts & PaymentsPorts & WalletsPorts

/** What finance and operators see and do; for administrators alone. */
export const financeRoutes = (ports: FinancePorts): readonly AnyRoute[] => [
  ...walletsRoutes(ports),
  ...paymentsRoutes(ports),
  ...outgoingRoutes(ports),
]
