import { type OutgoingPorts, outgoingRoutes } from './finance-outgoing.ts'
import type { AnyRoute } from './route.ts'

/** What finance and operators see and do; for administrators alone. */
export const financeRoutes = (ports: OutgoingPorts): readonly AnyRoute[] => [
  ...outgoingRoutes(ports),
]
