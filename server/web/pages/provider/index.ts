import type { Pool } from 'pg'
import type { Clock } from '../../../../core/clock.ts'
import type { AnyPage } from '../../page.ts'
import { callsPage } from './calls.ts'
import { domainPage } from './domain.ts'
import { domainsPage } from './domains.ts'
import { overviewPage } from './overview.ts'
import { payoutPage } from './payout.ts'
import { payoutsPage } from './payouts.ts'
import { servicePage } from './service.ts'
import { servicesPage } from './services.ts'
import { statisticsPage } from './statistics.ts'

export interface ProviderDeps {
  readonly pool: Pool
  readonly clock: Clock
}

/** Pages of an account as a provider. */
export const providerPages = (deps: ProviderDeps): readonly AnyPage[] => [
  overviewPage(deps),
  servicesPage(),
  servicePage(deps),
  domainsPage(),
  domainPage(deps),
  callsPage(deps),
  statisticsPage(deps),
  payoutsPage(deps),
  payoutPage(),
]
