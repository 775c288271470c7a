import { type OutgoingPorts, outgoingRoutes } from './finance-outgoing.ts'
import { type PaymentsPorts, paymentsRoutes } from './finance-payments.ts'
import type { AnyRoute } from './route.ts'

/** What finance and operators see and do; for administrators alone. */
export const financeRoutes = (ports: OutgoingPorts & PaymentsPorts): readonly AnyRoute[] => [
  ...paymentsRoutes(ports),
  ...outgoingRoutes(ports),
]
