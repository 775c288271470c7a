import type { CallDeps } from '../../../rest/account/calls.ts'
import type { AnyPage } from '../../page.ts'
import { activityPage } from './activity.ts'
import { callPages } from './call.ts'
import { callListPages } from './calls.ts'
import { documentsPage } from './documents.ts'
import { historyPage } from './history.ts'
import { keyPage } from './key.ts'
import { transferPage } from './key-transfer.ts'
import { keysPage } from './keys.ts'
import { notificationsPage } from './notifications.ts'
import { type OverviewDeps, overviewPage } from './overview.ts'
import { sessionsPage } from './sessions.ts'
import { walletsPage } from './wallets.ts'
import { webhookPage } from './webhook.ts'
import { webhooksPage } from './webhooks.ts'

export interface AccountDeps extends OverviewDeps, CallDeps {
  readonly baseUrl: () => string
}

/** Pages of an account as a buyer: keys, credits, spending and webhooks. */
export const accountPages = (deps: AccountDeps): readonly AnyPage[] => [
  overviewPage(deps),
  keysPage(),
  keyPage(deps),
  historyPage(deps),
  ...callListPages(deps),
  ...callPages(deps),
  documentsPage(deps),
  webhooksPage(),
  webhookPage(),
  notificationsPage(),
  transferPage(deps),
  walletsPage(deps),
  sessionsPage(deps),
  activityPage(),
]
