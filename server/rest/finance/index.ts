import type { FinancePorts } from '../../../core/finance/adjustments.ts'
import type { AnyRoute } from '../route.ts'
import { adjustmentRoutes } from './adjustments.ts'
import { booksRoutes } from './books.ts'
import { exportRoutes } from './exports.ts'
import { type JournalPorts, journalRoutes } from './journal.ts'
import { type OutgoingPorts, outgoingRoutes } from './outgoing.ts'
import { overviewRoutes } from './overview.ts'
import { type PaymentsPorts, paymentsRoutes } from './payments.ts'
import { reconciliationRoutes } from './reconciliation.ts'
import { statementRoutes } from './statements.ts'
import { transferBookingRoutes } from './wallet-transfers.ts'
import { type WalletsPorts, walletsRoutes } from './wallets.ts'

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
