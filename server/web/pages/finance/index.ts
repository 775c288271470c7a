import type { Clock } from '../../../../core/clock.ts'
import type { AnyPage } from '../../page.ts'
import { accountPage } from './account.ts'
import { adjustmentsPage } from './adjustments.ts'
import { auditPage } from './audit.ts'
import { unusableCreditsPage } from './breakage.ts'
import { conversionPage } from './conversion.ts'
import { financeDocumentsPage } from './documents.ts'
import { exceptionsPage } from './exceptions.ts'
import { exportsPage } from './exports.ts'
import { entryPage, journalPage } from './journal.ts'
import { financePage } from './overview.ts'
import { paymentsPage } from './payments.ts'
import { financePayoutsPage } from './payouts.ts'
import { periodsPage } from './periods.ts'
import { receivablesPage } from './receivables.ts'
import { reportsPage } from './reports.ts'
import { trendsPage } from './trends.ts'
import { balancePage } from './trial-balance.ts'
import { transfersPage } from './wallet-transfers.ts'

/** Pages of finance. The REST routes they call check the role. */
export const financePages = (deps: { readonly clock: Clock }): readonly AnyPage[] => [
  financePage(),
  trendsPage(),
  reportsPage(deps),
  conversionPage(deps),
  financeDocumentsPage(),
  balancePage(deps),
  accountPage(),
  journalPage(),
  entryPage(),
  adjustmentsPage(),
  receivablesPage(),
  unusableCreditsPage(),
  transfersPage(),
  exceptionsPage(),
  paymentsPage(),
  financePayoutsPage(),
  periodsPage(deps),
  exportsPage(),
  auditPage(),
]
