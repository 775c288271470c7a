import type { AnyRoute } from '../route.ts'
import { type AuditDeps, auditRoutes } from './audit.ts'
import { type KeyAdminDeps, keyAdminRoutes } from './keys.ts'
import { providerAdminRoutes } from './providers.ts'
import { type RoleDeps, roleRoutes } from './roles.ts'
import { type ServiceAdminDeps, serviceAdminRoutes } from './services.ts'

export const adminRoutes = (
  deps: RoleDeps & KeyAdminDeps & ServiceAdminDeps & AuditDeps,
): readonly AnyRoute[] => [
  ...keyAdminRoutes(deps),
  ...roleRoutes(deps),
  ...serviceAdminRoutes(deps),
  ...providerAdminRoutes(deps),
  ...auditRoutes(deps),
]
