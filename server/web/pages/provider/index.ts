import type { Pool } from 'pg'
import type { Clock } from '../../../../core/clock.ts'
import type { AnyPage } from '../../page.ts'
import { domainPage } from './domain.ts'
import { domainsPage } from './domains.ts'
import { overviewPage } from './overview.ts'
import { payoutPage } from './payout.ts'
import { payoutsPage } from './payouts.ts'
import { servicePage } from './service.ts'
import { servicesPage } from './services.ts'
import { statisticsPage } from './statistics.ts'

export interface ProviderPorts {
  readonly pool: Pool
  readonly clock: Clock
}

/** What people have here as sellers. */
export const providerPages = (ports: ProviderPorts): readonly AnyPage[] => [
  overviewPage(ports),
  servicesPage(),
  servicePage(),
  domainsPage(),
  domainPage(ports),
  statisticsPage(ports),
  payoutsPage(ports),
  payoutPage(),
]
