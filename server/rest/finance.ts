import type { FinancePorts } from '../../core/finance/adjustments.ts'
import { adjustmentRoutes } from './finance-adjustments.ts'
import { booksRoutes } from './finance-books.ts'
import { exportRoutes } from './finance-exports.ts'
import { type JournalPorts, journalRoutes } from './finance-journal.ts'
import { type OutgoingPorts, outgoingRoutes } from './finance-outgoing.ts'
import { overviewRoutes } from './finance-overview.ts'
import { type PaymentsPorts, paymentsRoutes } from './finance-payments.ts'
import { reconciliationRoutes } from './finance-reconciliation.ts'
import { statementRoutes } from './finance-statements.ts'
import { transferBookingRoutes } from './finance-transfers.ts'
import { type WalletsPorts, walletsRoutes } from './finance-wallets.ts'
import type { AnyRoute } from './route.ts'

type Ports = OutgoingPorts & PaymentsPorts & WalletsPorts & FinancePorts & JournalPorts

/** What finance and operators see and do; for people with the role alone. */
export const financeRoutes = (ports: Ports): readonly AnyRoute[] => [
  ...overviewRoutes(ports),
  ...walletsRoutes(ports),
  ...paymentsRoutes(ports),
  ...outgoingRoutes(ports),
  ...booksRoutes(ports),
  ...journalRoutes(ports),
  ...statementRoutes(ports),
  ...adjustmentRoutes(ports),
  ...reconciliationRoutes(ports),
  ...transferBookingRoutes(ports),
  ...exportRoutes(ports),
]
