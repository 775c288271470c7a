import type { CallPorts } from '../../../rest/account/calls.ts'
import type { AnyPage } from '../../page.ts'
import { callPages } from './call.ts'
import { historyPage } from './history.ts'
import { keyPage } from './key.ts'
import { transferPage } from './key-transfer.ts'
import { keysPage } from './keys.ts'
import { type OverviewPorts, overviewPage } from './overview.ts'
import { sessionsPage } from './sessions.ts'
import { walletsPage } from './wallets.ts'
import { webhookPage } from './webhook.ts'
import { webhooksPage } from './webhooks.ts'

export interface AccountPorts extends OverviewPorts, CallPorts {
  readonly baseUrl: () => string
}

/** What people have here as buyers: keys, credits, what they spent, and what they are told. */
export const accountPages = (ports: AccountPorts): readonly AnyPage[] => [
  overviewPage(ports),
  keysPage(),
  keyPage(),
  historyPage(ports),
  ...callPages(ports),
  webhooksPage(),
  webhookPage(),
  transferPage(ports),
  walletsPage(ports),
  sessionsPage(ports),
]
