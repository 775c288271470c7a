import type { AnyRoute } from '../route.ts'
import { type AccessReviewDeps, accessReviewRoutes } from './access-review.ts'
import { type AuditDeps, auditRoutes } from './audit.ts'
import { findRoutes } from './find.ts'
import { type HealthBoardDeps, healthBoardRoutes } from './health.ts'
import { incidentRoutes } from './incidents.ts'
import { type KeyAdminDeps, keyAdminRoutes } from './keys.ts'
import { type AddressRecoveryDeps, addressRecoveryRoutes } from './payout-address.ts'
import { type ProviderAdminDeps, providerAdminRoutes } from './providers.ts'
import { rateDecisionRoutes } from './rate-requests.ts'
import { type RetentionDeps, retentionRoutes } from './retention.ts'
import { type RoleDeps, roleRoutes } from './roles.ts'
import { type ServiceAdminDeps, serviceAdminRoutes } from './services.ts'
import { impactRoutes } from './suspension-impact.ts'

export const adminRoutes = (
  deps: RoleDeps &
    KeyAdminDeps &
    ServiceAdminDeps &
    ProviderAdminDeps &
    AddressRecoveryDeps &
    AccessReviewDeps &
    RetentionDeps &
    HealthBoardDeps &
    AuditDeps,
): readonly AnyRoute[] => [
  ...keyAdminRoutes(deps),
  ...rateDecisionRoutes(deps),
  ...roleRoutes(deps),
  ...accessReviewRoutes(deps),
  ...retentionRoutes(deps),
  ...healthBoardRoutes(deps),
  ...findRoutes(deps),
  ...incidentRoutes(deps),
  ...impactRoutes(deps),
  ...serviceAdminRoutes(deps),
  ...providerAdminRoutes(deps),
  ...addressRecoveryRoutes(deps),
  ...auditRoutes(deps),
]
