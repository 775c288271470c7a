import type { DecisionDeps } from '../../../core/finance/decide-act.ts'
import type { AnyRoute } from '../route.ts'
import { adjustmentRoutes } from './adjustments.ts'
import { breakageRoutes } from './breakage.ts'
import { type ConversionDeps, conversionRoutes } from './conversion.ts'
import { financeDocumentRoutes } from './documents.ts'
import { exportRoutes } from './exports.ts'
import { type JournalDeps, journalRoutes } from './journal.ts'
import { ledgerRoutes } from './ledger.ts'
import { type OutgoingDeps, outgoingRoutes } from './outgoing.ts'
import { overviewRoutes } from './overview.ts'
import { type PaymentsDeps, paymentsRoutes } from './payments.ts'
import { type FinancePayoutDeps, financePayoutRoutes } from './payouts.ts'
import { periodRoutes } from './periods.ts'
import { proposalRoutes } from './proposals.ts'
import { receivableRoutes } from './receivables.ts'
import { reconciliationRoutes } from './reconciliation.ts'
import { reportRoutes } from './reports.ts'
import { statementRoutes } from './statements.ts'
import { type TrendDeps, trendRoutes } from './trends.ts'
import { walletTransferRoutes } from './wallet-transfers.ts'
import { type WalletsDeps, walletsRoutes } from './wallets.ts'

type FinanceRouteDeps = OutgoingDeps &
  PaymentsDeps &
  WalletsDeps &
  DecisionDeps &
  ConversionDeps &
  JournalDeps &
  FinancePayoutDeps &
  TrendDeps

/** Routes of `/v1/finance`, for finance staff and administrators. */
export const financeRoutes = (deps: FinanceRouteDeps): readonly AnyRoute[] => [
  ...overviewRoutes(deps),
  ...walletsRoutes(deps),
  ...paymentsRoutes(deps),
  ...outgoingRoutes(deps),
  ...financePayoutRoutes(deps),
  ...ledgerRoutes(deps),
  ...periodRoutes(deps),
  ...journalRoutes(deps),
  ...statementRoutes(deps),
  ...reportRoutes(deps),
  ...trendRoutes(deps),
  ...conversionRoutes(deps),
  ...financeDocumentRoutes(deps),
  ...adjustmentRoutes(deps),
  ...proposalRoutes(deps),
  ...receivableRoutes(deps),
  ...breakageRoutes(deps),
  ...reconciliationRoutes(deps),
  ...walletTransferRoutes(deps),
  ...exportRoutes(deps),
]
