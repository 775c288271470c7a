import type { Clock } from '../../../../core/clock.ts'
import type { AnyPage } from '../../page.ts'
import { accountPage } from './account.ts'
import { adjustmentsPage } from './adjustments.ts'
import { auditPage } from './audit.ts'
import { balancePage } from './balance.ts'
import { exceptionsPage } from './exceptions.ts'
import { exportsPage } from './exports.ts'
import { entryPage, journalPage } from './journal.ts'
import { financePage } from './overview.ts'
import { paymentsPage } from './payments.ts'
import { periodsPage } from './periods.ts'
import { transfersPage } from './wallet-transfers.ts'

/** What people of finance see and decide. Each page asks routes of REST, which know their role. */
export const financePages = (ports: { readonly clock: Clock }): readonly AnyPage[] => [
  financePage(),
  balancePage(ports),
  accountPage(),
  journalPage(),
  entryPage(),
  adjustmentsPage(),
  transfersPage(),
  exceptionsPage(),
  paymentsPage(),
  periodsPage(ports),
  exportsPage(),
  auditPage(),
]
