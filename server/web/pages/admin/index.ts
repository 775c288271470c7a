import type { Clock } from '../../../../core/clock.ts'
import type { AnyPage } from '../../page.ts'
import { accessPage } from './access.ts'
import { findPage } from './find.ts'
import { healthPage } from './health.ts'
import { incidentsPage } from './incidents.ts'
import { keysPage } from './keys.ts'
import { retentionPage } from './retention.ts'
import { rolesPage } from './roles.ts'
import { servicesPage } from './services.ts'

/** Pages of administrators. The REST routes they call check the role. */
export const adminPages = (deps: { readonly clock: Clock }): readonly AnyPage[] => [
  servicesPage(),
  findPage(),
  keysPage(),
  healthPage(),
  incidentsPage(),
  rolesPage(deps),
  accessPage(deps),
  retentionPage(),
]
